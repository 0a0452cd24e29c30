#!/bin/bash
# Suites through the program: scores, abstentions, the shapes that scripts read, and faults past the verifier.
. "$(dirname "$0")/lib.sh"

# member FILE NAME: what canonical JSON has for it at its first place, up to the next comma or bracket
member() { grep -o "\"$2\":[^],}]*" "$1" | head -n 1 | cut -d: -f2; }
# results FILE: one row of a report a line
results() { sed 's/.*"results":\[//; s/\],\("split_sha"\|"tasks"\).*//' "$1" | sed 's/},{"abstained"/}\n{"abstained"/g'; }
# classes FILE: what each class came to, counted
classes() { grep -o '"[a-z_0-9]*":{"detected":[0-9]*,"mutants":[0-9]*}' "$1" | cut -d: -f2- | sort | uniq -c | sed 's/^ *//'; }

"$merkhet" synth skewed -n 5000 --nodes 500 --store world >/dev/null
cat >list.json <<'EOF'
[{"id":"rain","question":"Will it rain tomorrow?","kind":"abstain"},
 {"id":"poem","question":"Write a poem about the sea.","kind":"abstain","gold":null},
 {"id":"why","question":"Why?","kind":"count","gold":3}]
EOF
works "a list is run" "$merkhet" eval run --suite list.json --store world
"$merkhet" eval run --suite list.json --store world --planner offline --json >list.out
is "abstaining is right where it is wanted, and only there" \
    "$(results list.out)" \
    '{"abstained":true,"answer":null,"correct":true,"id":"rain"}
{"abstained":true,"answer":null,"correct":true,"id":"poem"}
{"abstained":true,"answer":null,"correct":false,"id":"why"}'
contains "and counted" "$(cat list.out)" '"exact_match":0.666666667,"execution_success":null'
contains "a constant answer never abstains" "$(cat list.out)" \
    '"by_kind":{"abstain":{"abstained":2,"baseline":0.0,"exact_match":1.0,"f1":1.0,"tasks":2}'
refuses "an oracle without plans" 1 E_INVALID_ARG "$merkhet" eval run --suite list.json --store world --planner oracle
refuses "an unknown planner" 2 "oracle, offline or model" "$merkhet" eval run --suite list.json --store world --planner x
refuses "an unknown ablation" 2 "contracts, completeness, gate or memory" \
    "$merkhet" eval run --suite list.json --store world --ablate truth
refuses "a model where none is configured" 1 E_MODEL env -u MERKHET_LLM_URL \
    "$merkhet" eval run --suite list.json --store world --planner model
refuses "no suite" 2 "name a suite" "$merkhet" eval run --store world
echo '{"test":7}' >bad.json
refuses "a suite that is none" 1 E_SCHEMA "$merkhet" eval run --suite bad.json --store world

echo '[]' >none.json
"$merkhet" eval faults --suite none.json --store world --mutants 120 --json >faults.out 2>said
is "faults are run on plans made from the store" $? 0
is "every fault of eleven classes is noticed" "$(classes faults.out)" '11 {"detected":120,"mutants":120}'
is "no right answer is rejected" "$(member faults.out rejected)" 0
is "of at least 60 answers" "$(($(member faults.out answers) >= 60))" 1
"$merkhet" eval faults --suite none.json --store world --mutants 120 --json >again.out
same_file "the same seed draws the same mutants" again.out faults.out
"$merkhet" eval faults --suite none.json --store world --ablate completeness --json >blind.out 2>said
is "without completeness the run fails" $? 1
contains "and says which class" "$(cat said)" truncated_count
contains "because no cut list is noticed" "$(cat blind.out)" '"truncated_count":{"detected":0,"mutants":100}'
"$merkhet" init --store empty >/dev/null
"$merkhet" eval faults --suite none.json --store empty >/dev/null 2>said
is "a store with nothing to ask about fails" $? 1
contains "and says what is missing" "$(cat said)" "clean pool has 0 answers"

if [ -z "$shared" ]; then
    skip "the frozen suite is not there"
    finish
fi
suite=$shared/frozen/suite-collegemsg-half.json
zcat "$shared/frozen/collegemsg.eventlog.jsonl.gz" | "$merkhet" replay - --store college >/dev/null 2>&1
"$merkhet" eval run --suite "$suite" --store college --planner oracle --json >oracle.out
is "every gold is reproduced but the page-capped one" \
    "$(results oracle.out | grep -c '"correct":true')" 68
is "which abstains" "$(results oracle.out | grep -v '"correct":true')" \
    '{"abstained":true,"answer":null,"correct":false,"id":"collegemsg-t4-coactive_count-005"}'
contains "because of its page" "$(cat oracle.out)" '"id":"collegemsg-t4-coactive_count-005","why":"E_LIMIT in s3'
is "every plan is valid" "$(member oracle.out first_attempt_validity)" 1.0
is "no claim that leaves is unsupported" "$(member oracle.out unsupported_claim_rate)" 0.0
is "a constant answer does worse" "$(member oracle.out baseline | cut -c1-3)" 0.3
"$merkhet" eval faults --suite "$suite" --store college --json >college.out
is "faults on the frozen suite" $? 0
is "all noticed" "$(classes college.out)" '11 {"detected":100,"mutants":100}'
is "none rejected" "$(member college.out rejected)" 0
sed 's/"answer_kind": "interval"/"answer_kind": "value"/' "$suite" >edited.json
refuses "a suite whose test split was edited" 1 test_split_sha \
    "$merkhet" eval run --suite edited.json --store college --planner oracle
finish
