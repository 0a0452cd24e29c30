#!/bin/bash
# What reaches a terminal: stored text cannot steer it, colour and progress appear there only.
. "$(dirname "$0")/lib.sh"

# A title change, a bell, DEL, the 8-bit form of ESC [, and a mark that reverses the line.
printf '%s\n' '{"op":"assert_node","uid":"evil","label":"L\u001b]0;gotcha\u0007\u007f","props":{"x":"\u009b31m\u202eabc"},"vt_s":0}' |
    "$merkhet" assert --store s - >/dev/null
text=$("$merkhet" call entity_history '{"uid":"evil"}' --store s)
is "tables hold no control characters" "$(printf '%s' "$text" | tr -d '\n' | LC_ALL=C grep -c '[[:cntrl:]]')" 0
contains "but their escapes" "$text" 'L\x1b]0;gotcha\x07\x7f'
contains "marks of direction too" "$text" '\u{202e}'
is "nor does log show" "$("$merkhet" log show --ops --store s | tr -d '\n' | LC_ALL=C grep -c '[[:cntrl:]]')" 0
contains "JSON in a pipe is canonical" "$("$merkhet" call entity_history '{"uid":"evil"}' --json --store s)" "$(printf '\302\233')31m"
refuses "an error message is clean" 1 'zz?[31m' "$merkhet" call entity_history "$(printf '{"uid":"zz\\u001b[31m"}')" --store s

if ! script -qec true /dev/null >/dev/null 2>&1; then
    skip "there is no script(1) to make a terminal"
    finish
fi
on_terminal() { script -qec "$*" /dev/null </dev/null | tr -d '\r'; }
json=$(on_terminal "'$merkhet' call entity_history '{\"uid\":\"evil\"}' --json --store s")
is "JSON on a terminal holds no control characters" "$(printf '%s' "$json" | tr -d '\n' | LC_ALL=C grep -c '[[:cntrl:]]')" 0
contains "they are escaped" "$json" '\u009b31m\u202e'
is "and C1 bytes are gone" "$(printf '%s' "$json" | grep -c "$(printf '\302\233')")" 0

# Two rows that differ make a table, whose head is bold on a terminal.
"$merkhet" correct --store s --node evil --props '{"x":1}' --from 5 >/dev/null
call="'$merkhet' call entity_history '{\"uid\":\"evil\"}' --store s"
is "no colour in a pipe" "$(unset NO_COLOR; sh -c "$call" | grep -c "$(printf '\033')")" 0
is "colour on a terminal" "$(unset NO_COLOR; on_terminal "$call" | grep -c "$(printf '\033\\[1m')")" 1
is "none with NO_COLOR" "$(on_terminal "$call" | grep -c "$(printf '\033')")" 0

seq 1 400000 | awk '{ print $1 % 997, $1 % 991, 1082040961 + $1 }' >rows.txt
contains "a progress line on a terminal" "$(on_terminal "'$merkhet' ingest rows.txt --store p" | tr '\033' '^')" "ingest:"
"$merkhet" ingest rows.txt --store q >/dev/null 2>errors
is "none elsewhere" "$(cat errors)" ""
finish
