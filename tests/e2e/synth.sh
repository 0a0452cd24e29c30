#!/bin/bash
# Made data: the specifications' bytes and digests, where it goes, and what is refused.
. "$(dirname "$0")/lib.sh"

sha() { sha256sum | cut -d' ' -f1; }
digest_of() { sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/'; }

# --- v1, byte for byte (store spec 22.1, evaluation spec 19) ---
is "v1: 100,000 events have their hash" "$("$merkhet" synth v1 --nodes 5000 -n 100000 --seed 1 | sha)" \
    967ed82c8d3d55a68475b0129efdafd060755199b72d44a356000230a3f81e8d
is "v1: planted rings, ping-pongs and bursts have theirs" \
    "$("$merkhet" synth v1 --nodes 1000 --n 2000 --seed 1 --rings 1 --pingpong 1 --bursts 1 | sha)" \
    ec15263f5c8359e04fa8509319ec4b5afc69643368e7e058baf743b9cc0b2754
"$merkhet" synth v1 --nodes 20000 -n 1000000 --seed 1 -o million.jsonl --json >manifest
is "v1: a million events have theirs" "$(sha <million.jsonl)" \
    00db4347e2ce0ec8ec715438ce564fd2e2f872b0806ad8dac3e738eeeac646a6
contains "v1: the manifest is printed" "$(cat manifest)" '"generator":"synth-v1","n_events":1000000,'
"$merkhet" ingest million.jsonl --store million --json >report
contains "v1: it can be ingested" "$(cat report)" '"events":1000000,'
contains "v1: degrees are those of the evaluation" "$("$merkhet" stats --store million --json)" \
    '"max_out_degree":77'
rm -rf million million.jsonl

# --- registry, by digest (evaluation spec 21) ---
for row in 20000:d275bc656c49d96ed1a549f1d9bd09f749516e917d5507a7785218555dddfc21 \
    200000:9c3301a346a981be445a87de6f73dab99fe02f39282a37b525c2db8132143ed0; do
    n=${row%%:*}
    is "registry of $n replays to the digest of the evaluation" \
        "$("$merkhet" synth registry -n "$n" | "$merkhet" replay - --store "r$n" --json | digest_of)" "${row#*:}"
done
works "registry: straight into a store" "$merkhet" synth registry -n 2000 --store direct
contains "registry: one batch each" "$("$merkhet" stats --store direct --json)" '"batches":263'
refuses "a store that holds something is left alone" 1 not_empty \
    "$merkhet" synth registry -n 2000 --store direct --json
# The hash of an answer leaves out what is not the answer (evaluation spec, 20.4).
answer() {
    "$merkhet" call co_active '{"a_spec":{"src":"n1"},"b_spec":{"src":"n2"},"allen_relation":{"relation":"overlaps"}}' \
        --store "$1" --json | sed 's/.*\("rows":\[{"a".*\)/{\1/' | tr -d '\n' | sha | cut -c1-32
}
is "coactive.narrow on 20,000" "$(answer r20000)" 04eb56dc57506e7fc3e0e94b41f3f46c
is "coactive.narrow on 200,000" "$(answer r200000)" 5038d6b3732bfec86fdeac1838a0ce23

# --- skewed ---
"$merkhet" synth skewed -n 20000 --nodes 2000 --seed 3 >a.jsonl
"$merkhet" synth skewed -n 20000 --nodes 2000 --seed 3 -o b.jsonl --manifest m.json >/dev/null
same_file "skewed: the same seed, the same bytes" a.jsonl b.jsonl
"$merkhet" synth skewed -n 20000 --nodes 2000 --seed 4 >c.jsonl
if cmp -s a.jsonl c.jsonl; then not_ok "skewed: another seed, other bytes"; else ok "skewed: another seed, other bytes"; fi
contains "skewed: no batch fails" "$("$merkhet" replay a.jsonl --store skewed --json)" '"failed":0,'
contains "skewed: the manifest says what is planted" "$(cat m.json)" '{"kind":"cycle","nodes":["cycle'
cycle=$(grep -o '"cycle0_[^]]*]' m.json | head -n 1 | tr ',' '\n' | grep -c cycle0)
is "skewed: a planted cycle is in the store" \
    "$("$merkhet" call resolve_entities '{"query":"cycle0_"}' --store skewed --json | sed 's/.*"rows_total":\([0-9]*\).*/\1/')" "$cycle"

# --- where it goes ---
mkdir folder
"$merkhet" synth v1 -n 10 -o folder >/dev/null
is "a folder gets both files" "$(ls folder | tr '\n' ' ')" "events.jsonl manifest.json "
"$merkhet" synth registry -n 100 -o folder >/dev/null
contains "a log has the log's name" "$(ls folder)" eventlog.jsonl
is "lines on request" "$("$merkhet" synth registry -n 100 --format lines | head -n 1)" \
    '{"disc": "#0", "dst": "n35", "rel_type": "S", "src": "n0", "vt_e": 40, "vt_s": 0}'
is "v1 as a log" "$("$merkhet" synth v1 -n 3 --format log | "$merkhet" replay - --store v1log --json | cut -c1-24)" \
    '{"batches":1,"failed":0,'

# --- what is refused ---
refuses "no kind" 2 "something is missing" "$merkhet" synth
refuses "another kind" 2 "one of v1, registry, skewed" "$merkhet" synth random
refuses "an option of another kind" 2 "--rings is not for registry" "$merkhet" synth registry --rings 1
refuses "both a store and a file" 2 "--store takes no --output" "$merkhet" synth v1 --store s -o f
refuses "a size that cannot be" 1 E_INVALID_ARG "$merkhet" synth registry -n 39
refuses "patterns without room" 1 "one for every 64 events" "$merkhet" synth skewed -n 100 -o none.jsonl
is "nothing is left of a refused one" "$(ls | grep -c none)" 0
refuses "a folder that is not there" 1 E_ "$merkhet" synth v1 -n 1 -o nowhere/at/all.jsonl
if [ -e /dev/full ]; then refuses "a full disk" 1 E_STATE "$merkhet" synth v1 -n 10 -o /dev/full; fi
finish
