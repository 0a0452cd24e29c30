#!/bin/bash
# merkhet memory: notes are built, listed, shown, quarantined by a correction on another path, and renewed.
. "$(dirname "$0")/lib.sh"
unset MERKHET_LLM_URL
export MERKHET_STORE=$work/s
"$merkhet" assert --edge ada WROTE_TO bob --from 2024-05-01 --to 2024-05-02 --create-endpoints >/dev/null
"$merkhet" assert --edge bob WROTE_TO ada --from 2024-05-10 --to 2024-05-11 >/dev/null
contains "a build writes a note a week" "$("$merkhet" memory build)" "weeks 3, notes written 3"
contains "a second build writes none" "$("$merkhet" memory build)" "weeks 3, notes written 0"
is "its JSON" "$("$merkhet" memory build --json)" '{"accepted":0,"rejected":0,"tt":0,"windows":3,"written":0}'
before=$("$merkhet" memory list --json | grep -o '"written_tt":[0-9]*' | grep -o '[0-9]*' | sort -n | tail -n 1)
contains "the list says what stands" "$("$merkhet" memory list)" "yes"
contains "a note is shown in full" "$("$merkhet" memory show 2024-05-01)" '"n_events":1,"n_new_nodes":2'
refuses "no note about another time" 1 E_NOT_FOUND "$merkhet" memory show 2023-01-01
refuses "a time that is none" 1 E_INVALID_ARG "$merkhet" memory show soon
refuses "a store that is none" 1 E_NOT_FOUND "$merkhet" memory list --store "$work/none"
refuses "a text of another kind" 2 numbers "$merkhet" memory build --texts poem
refuses "a model that is not configured" 1 MERKHET_LLM_URL "$merkhet" memory build --texts model
refuses "notes are no user data" 1 E_NOT_FOUND "$merkhet" call entity_history '{"uid":"mn:window:604800000000:1714003200000000"}'
refuses "nor to be written" 1 reserved "$merkhet" assert --node mn:window:1:1 --label Note --from 2024-01-01

printf '%s\n' '{"op":"assert_edge","src":"ada","dst":"bob","rel_type":"WROTE_TO","vt_s":1714564800000000,"vt_e":1714564800000001,"disc":"late"}' |
    "$merkhet" assert - >/dev/null
contains "a late event quarantines its week only" "$("$merkhet" memory list --json)" '"stale":true,"t_a":1714003200000000'
is "one is stale" "$("$merkhet" memory list --json | grep -o '"stale":true' | wc -l)" 1
is "none was at the time before" "$("$merkhet" memory list --json --as-of-tt $before | grep -o '"stale":true' | wc -l)" 0
contains "a build renews it" "$("$merkhet" memory build)" "weeks 3, notes written 1"
contains "with the new number" "$("$merkhet" memory show 2024-05-01)" '"n_events":2'
works "the notes survive a rebuild" "$merkhet" rebuild
contains "and stand" "$("$merkhet" memory list --from 2024-05-01 --to 2024-05-02 --json)" '"stale":false,"t_a":1714003200000000'

MERKHET_LLM_URL=ftp://x refuses "a bad setting is named" 1 MERKHET_LLM_URL "$merkhet" memory build --texts model
MERKHET_LLM_URL=http://127.0.0.1:1 MERKHET_LLM_RETRIES=0 works "an endpoint that is down costs texts only" \
    "$merkhet" memory build --texts model
finish
