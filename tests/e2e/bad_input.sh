#!/bin/bash
# Hostile input and a hostile machine: a typed error that says what to do, and the store as it was.
. "$(dirname "$0")/lib.sh"

"$merkhet" assert --store s --node ada --label Person --from 0 >/dev/null
digest=$("$merkhet" digest --store s)
unchanged() { is "$1: the store is as it was" "$("$merkhet" digest --store s 2>&1)" "$digest"; }
# Writes the operation on standard input and expects a refusal.
refused() { # name, word
    local name=$1 word=$2
    cat >op.json
    refuses "$name" 1 "$word" "$merkhet" assert --store s - <op.json
}

# --- not a store ---------------------------------------------------------------------------------

refuses "no store" 1 E_NOT_FOUND "$merkhet" stats --store none
mkdir foreign; echo mine >foreign/file
refuses "a foreign folder" 1 not_a_store "$merkhet" stats --store foreign
refuses "a foreign folder, writing" 1 not_a_store "$merkhet" assert --store foreign --node a
is "nothing was added to it" "$(ls foreign)" file
refuses "a file instead of a folder" 1 E_ "$merkhet" stats --store foreign/file
refuses "a folder that cannot be made" 1 E_ "$merkhet" init --store no/such/parent
refuses "hint and code as JSON" 1 '"reason":"not_a_store"' "$merkhet" stats --store foreign --json

cp -a s newer
sed -i 's/"format":1/"format":2/' newer/merkhet.json
refuses "a newer format" 1 newer_format "$merkhet" stats --store newer
refuses "a newer format, writing" 1 newer_format "$merkhet" assert --store newer --node a
cp -a s meta
echo '{' >meta/merkhet.json
refuses "damaged merkhet.json" 1 E_STATE "$merkhet" stats --store meta

# --- damaged logs --------------------------------------------------------------------------------

"$merkhet" assert --store s --node bob --label Person >/dev/null
"$merkhet" assert --store s --node eve --label Person >/dev/null
digest=$("$merkhet" digest --store s)
flip() { # file, offset: changes one byte
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "\\$(printf %03o $((byte ^ 32)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
for at in 0 100 130 200 300; do
    rm -rf hurt; cp -a s hurt; rm -rf hurt/data
    flip hurt/log/00000001.mlog $at
    refuses "byte $at of the log is wrong: opening" 1 E_STATE "$merkhet" digest --store hurt
    refuses "byte $at of the log is wrong: verify names the file" 1 "00000001.mlog" "$merkhet" log verify --store hurt
    cp -a hurt before
    refuses "byte $at of the log is wrong: writing" 1 E_STATE "$merkhet" assert --store hurt --node a
    cmp -s hurt/log/00000001.mlog before/log/00000001.mlog
    is "byte $at of the log is wrong: the log is left alone" "$?" 0
    rm -rf before
done
rm -rf hurt; cp -a s hurt; rm -rf hurt/data
end=$("$merkhet" log verify --store s --json | sed 's/.*"offset":\([0-9]*\).*/\1/')
flip hurt/log/00000001.mlog $((end - 100))
refuses "an acknowledged last frame is damaged: verify says so" 1 damaged "$merkhet" log verify --store hurt
rm -rf hurt; cp -a s hurt; rm -rf hurt/data/*
flip s/data/"$(ls s/data | head -n 1)" 40 2>/dev/null
is "a damaged checkpoint is made again from the log" "$("$merkhet" digest --store s 2>/dev/null)" "$digest"
"$merkhet" rebuild --store s >/dev/null 2>&1

# --- another process, the disk -------------------------------------------------------------------

mkfifo hold
"$merkhet" assert - --each --json --store s <hold >acks &
holder=$!
exec 3>hold
echo '{"op":"assert_node","uid":"held","label":"L","vt_s":0}' >&3
for _ in $(seq 200); do [ -s acks ] && break; sleep 0.02; done
refuses "a store that is locked" 1 locked "$merkhet" assert --store s --node a
refuses "a store that is locked: try again" 1 '"retry":"as_is"' "$merkhet" rebuild --store s --json
works "reading works meanwhile" "$merkhet" digest --store s
exec 3>&-
wait $holder
digest=$("$merkhet" digest --store s)

if [ -w /dev/full ]; then
    "$merkhet" digest --store s >/dev/full 2>errors
    is "output to a full disk" "$?" 1
    contains "output to a full disk is an error" "$(cat errors)" no_space
    "$merkhet" log export --store s >/dev/full 2>errors
    is "export to a full disk" "$?" 1
fi
seq 1 20000 | awk '{ print $1 % 997, $1 % 991, 1082040961 + $1 }' >many.txt
( ulimit -f 64; exec "$merkhet" ingest many.txt --store s --batch 500 ) >out 2>errors
is "a file that may not grow" "$?" 1
contains "a file that may not grow is a typed error" "$(cat errors)" E_STATE
works "the store opens again" "$merkhet" log verify --store s
works "and takes more" "$merkhet" assert --store s --node more
digest=$("$merkhet" digest --store s)

cat >full.sh <<'FULL'
mount -t tmpfs -o size=600k none "$1/disk" || exit 99
"$2" assert --store "$1/disk/s" --node ada || exit 98
"$2" ingest "$1/many.txt" --store "$1/disk/s" --batch 500 2>"$1/errors"
echo $? >"$1/status"
"$2" log verify --store "$1/disk/s" >"$1/verdict" 2>&1 || exit 97
"$2" digest --store "$1/disk/s" >"$1/digest" 2>&1 || exit 96
FULL
mkdir disk
unshare -rm true 2>/dev/null && ns=-rm || ns=-m
if unshare $ns true 2>/dev/null; then
    unshare $ns bash full.sh "$work" "$merkhet" >out 2>&1; rc=$?
    if [ $rc -eq 99 ]; then skip "no file system can be mounted"; else
        is "a full disk: the store stays sound" "$rc" 0
        is "a full disk is refused" "$(cat status)" 1
        contains "a full disk is named" "$(cat errors)" no_space
    fi
else
    skip "no private mounts"
fi

# Root may write anywhere, so the commands run as somebody else.
chmod 755 "$work"; chmod -R go+rX s
as_other() { if [ "$(id -u)" -eq 0 ]; then setpriv --reuid 65534 --clear-groups "$@"; else "$@"; fi; }
chmod a-w s s/log s/log/* s/data s/data/* s/lock s/head 2>/dev/null
if as_other test -r s/merkhet.json && as_other test -x "$merkhet" && ! as_other test -w s; then
    is "a read-only store is read" "$(as_other "$merkhet" digest --store s)" "$digest"
    refuses "a read-only store is not written" 1 E_STATE as_other "$merkhet" assert --store s --node a
    refuses "nothing is made in a read-only folder" 1 E_STATE as_other "$merkhet" init --store s/new
else
    skip "the folder cannot be made read-only for this user"
fi
chmod -R u+w s
unchanged "read-only"

# --- JSON ----------------------------------------------------------------------------------------

million() { head -c 1000000 /dev/zero | tr '\0' "$1"; }
{ printf '{"op":"assert_node","uid":"n","label":"L","vt_s":0,"props":{"a":'; million '['; million ']'; printf '}}\n'; } |
    refused "a million brackets" E_LIMIT
{ printf '{"op":"assert_node","uid":"n","label":"L","vt_s":0,"props":{"a":'; million '['; printf '\n'; } |
    refused "a million brackets that do not close" E_LIMIT
{ million '['; million ']'; } >deep.json
refuses "a million brackets as arguments" 1 E_LIMIT "$merkhet" call entity_history - --store s <deep.json
is "a million brackets in a batch of calls" "$({ million '['; echo; } | "$merkhet" call --batch - --store s | grep -c E_LIMIT)" 1
printf '{"op":"assert_node","uid":"a\377b","label":"L","props":{},"vt_s":0}\n' | refused "invalid UTF-8" E_SCHEMA
printf '{"op":"assert_node","uid":"a\\ud800b","label":"L","props":{},"vt_s":0}\n' | refused "half a surrogate pair" E_
printf '{"op":"assert_node","uid":"a","label":"L","props":{"x":NaN},"vt_s":0}\n' >nan.json
printf '{"op":"assert_node","uid":"a","label":"L","props":{},"vt_s":0}garbage\n' | refused "text behind the value" E_SCHEMA
printf '{"op":"assert_node","uid":"a","label":"L","props":{},"vt_s":0,"extra":1}\n' | refused "an unknown member" extra
printf '{"op":"explode"}\n' | refused "an unknown operation" explode
printf '{"op":"assert_node","uid":"","label":"L","props":{},"vt_s":0}\n' | refused "an empty uid" uid
printf '{"op":"assert_node","uid":"tk:x","label":"L","props":{},"vt_s":0}\n' | refused "a reserved uid" E_INVALID_ARG
printf '{"op":"assert_node","uid":"a","label":"L","props":{},"vt_s":9223372036854775807}\n' | refused "a time beyond 2^62" vt_s
printf '{"op":"assert_node","uid":"a","label":"L","props":{},"vt_s":99999999999999999999}\n' | refused "a time beyond 64 bits" vt_s
printf '{"op":"assert_node","uid":"a","label":"L","props":{},"vt_s":1.5}\n' | refused "half a microsecond" vt_s
printf '{"op":"assert_node","uid":"a","label":"L","props":{},"vt_s":"2024-13-01"}\n' | refused "a thirteenth month" vt_s
printf '{"op":"assert_edge","src":"a","dst":"b","rel_type":"R","props":{},"vt_s":7,"vt_e":7}\n' | refused "an empty interval" vt_e
refuses "an argument out of range" 1 E_SCHEMA "$merkhet" call entity_history '{"uid":"ada","as_of_tt":-1}' --store s
refuses "a limit out of range" 1 E_SCHEMA "$merkhet" call entity_history '{"uid":"ada","limit":0}' --store s
refuses "--from out of range" 1 E_INVALID_ARG "$merkhet" assert --store s --node a --from 4611686018427387905
unchanged "JSON"

# A string of 2 GiB, with at most 1 GiB of memory for whoever reads it.
huge() {
    printf '{"op":"assert_node","uid":"n","label":"L","vt_s":0,"props":{"a":"'
    head -c 2147483648 /dev/zero | tr '\0' x
    printf '"}}\n'
}
free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
if [ "$free" -lt 2048 ]; then
    skip "too little memory for a string of 2 GiB: $free MiB"
else
    huge 2>/dev/null | ( ulimit -v 1500000; exec "$merkhet" assert --store s - ) >out 2>errors
    is "a string of 2 GiB" "$?" 1
    contains "a string of 2 GiB is over the limit" "$(cat errors)" E_LIMIT
    huge 2>/dev/null | ( ulimit -v 1500000; exec "$merkhet" ingest - --format jsonl --store s ) >out 2>errors
    is "a string of 2 GiB, ingested" "$?" 1
    contains "a string of 2 GiB, ingested, is over the limit" "$(cat errors)" E_LIMIT
    unchanged "a string of 2 GiB"
fi
finish
