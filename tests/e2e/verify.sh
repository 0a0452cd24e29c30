#!/bin/bash
# Bundles and proofs: the command and the small program say the same, and the program links nothing but
# base and claim. tests/data/claim was written by a script of its own from docs/trace-format.md.
. "$(dirname "$0")/lib.sh"
verify=${MK_BUILD:-$repo/build}/merkhet-verify
if [ ! -x "$verify" ]; then
    skip "the verifier is not built: $verify"
    finish
fi
good=$data/claim/answer.bundle.json
bad=$data/claim/false.bundle.json

# --- bundles -------------------------------------------------------------------------------------

contains "a bundle that another program wrote is sound" "$("$verify" "$good")" "the bundle is sound"
contains "and its claims hold" "$("$verify" "$good")" "2 supported, 0 weakly"
is "the command says the same" "$("$merkhet" verify "$good")" "$("$verify" "$good")"
is "as JSON too" "$("$merkhet" verify "$good" --json)" "$("$verify" --json "$good")"
is "from standard input" "$("$verify" - <"$good")" "$("$verify" "$good")"
works "strictly too" "$verify" --strict "$good"

contains "a false claim in a sound bundle" "$("$verify" "$bad")" "3 is not among the candidates [2]"
works "is status 1" bash -c "! '$verify' '$bad'"
is "of the command as well" "$("$merkhet" verify "$bad" >said 2>why; echo $?)" 1
contains "which says why" "$(cat why)" "does not follow from its evidence"

sed 's/"earliest_arrival":30/"earliest_arrival":31/' "$good" >tampered
contains "a changed value is found with its place" "$("$verify" tampered)" "payloads."
works "and is status 1" bash -c "! '$verify' tampered"
is "the command refuses it" "$("$merkhet" verify tampered >said 2>why; echo $?)" 1
contains "as not what was written" "$(cat why)" "not what was written"
sed 's/"question":"Whom does a reach?","report"/"question":"Who does a reach?","report"/' "$good" >tampered
contains "a changed question is found" "$("$verify" tampered)" "question: does not hash"
head -c 1000 "$good" >cut
refuses "half a bundle" 1 E_SCHEMA "$verify" cut
refuses "something else" 1 E_SCHEMA "$merkhet" verify /dev/null
refuses "a file that is not there" 1 E_NOT_FOUND "$verify" nowhere
refuses "a folder" 1 E_STATE "$verify" .

# --- proofs --------------------------------------------------------------------------------------

root=$(sed 's/.*"root":"\([0-9a-f]*\)".*/\1/' "$good")
works "a claim is proved" bash -c "'$verify' --claim c2 --proof '$good' >proof"
contains "and the proof holds" "$("$verify" --root "$root" proof)" "the proof holds"
is "the command writes the same proof" "$("$merkhet" verify "$good" --claim c2 --proof)" "$(cat proof)"
contains "and checks it" "$("$merkhet" verify proof --root "$root")" "the proof holds"
is "a count shows no row" "$(grep -c earliest_arrival proof)" 0
sed 's/"value":2/"value":3/' proof >forged
contains "a forged claim leads to another root" "$("$verify" --root "$root" forged)" "does not lead to the root"
works "and is status 1" bash -c "! '$verify' --root $root forged"
refuses "by the command as well" 1 "does not lead to the root" "$merkhet" verify forged --root "$root"
works "another root" bash -c "! '$verify' --root ${root//[0-4]/5} proof"
refuses "a claim that is not there" 1 E_NOT_FOUND "$verify" --claim c9 --proof "$good"

# --- use -----------------------------------------------------------------------------------------

refuses "no file" 2 "name a file" "$verify"
refuses "an unknown option" 2 "no such option" "$verify" --colour "$good"
refuses "half a pair of options" 2 "go together" "$verify" --proof "$good"
refuses "half a pair of the command" 2 "go together" "$merkhet" verify --proof "$good"
works "help" "$verify" --help

# --- what it is made of --------------------------------------------------------------------------

if command -v nm >/dev/null; then
    nm "$verify" >symbols
    is "no network, no loading of code, no other program" \
        "$(grep -ciE ' U (socket|connect|bind|listen|accept|send|recv|getaddrinfo|curl_|dlopen|exec|fork|system|popen)' symbols)" 0
    is "neither store, operators, plans nor models" \
        "$(grep -cE ' [Tt] mk_(store|view|log|write|op|operator|call|plan|model|ask|agent|serve|eval)_' symbols)" 0
    works "but the code of claims" grep -q ' [Tt] mk_answer_verify' symbols
else
    skip "there is no nm"
fi
finish
