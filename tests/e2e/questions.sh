#!/bin/bash
# The questions of tests/questions: their answers are those of the raw data, and plans written by hand give them.
. "$(dirname "$0")/lib.sh"

questions=$repo/tests/questions
if ! command -v python3 >/dev/null; then
    skip "python3 is not there: it builds the data and computes the answers"
    finish
fi

# number FILE NAME: what a report has for it
number() { grep -o "\"$2\":[^,}]*" "$1" | head -n 1 | cut -d: -f2; }
# plans_give_answers GRAPH TASKS: the oracle's run over GRAPH-plans.json
plans_give_answers() {
    "$merkhet" eval run --suite "q/$1-plans.json" --store "q/$1" --planner oracle --json >report 2>said
    is "$1: plans are run" "$? $(cat said)" "0 "
    is "$1: all $2 plans give the answer of the raw data" \
        "$(number report tasks) $(grep -o '"correct":true' report | wc -l)" "$2 $2"
    is "$1: all pass the check, and no claim is unsupported" \
        "$(number report first_attempt_validity) $(number report unsupported_claim_rate)" "1.0 0.0"
}

# planner_is_right GRAPH LEAST: the planner without a model answers none of GRAPH's questions wrongly, and LEAST rightly
planner_is_right() {
    "$merkhet" eval run --suite "q/$1.json" --store "q/$1" --planner offline --json >report 2>said
    is "$1: the planner is run" "$? $(cat said)" "0 "
    is "$1: no answer of the planner is wrong" \
        "$(tr '{' '\n' <report | grep '"correct":false' | grep -vc '"abstained":true')" 0
    right=$(grep -o '"correct":true' report | wc -l)
    is "$1: at least $2 of 20 are right ($right)" "$((right >= $2))" 1
}
# planner_says_nothing GRAPH: to 100 questions about other things
planner_says_nothing() {
    "$merkhet" eval run --suite "$questions/unrelated100.json" --store "q/$1" --planner offline --json >report 2>said
    is "$1: nothing is said to 100 unrelated questions" "$(number report tasks) $(number report abstained)" "100 100"
}

works "the data are built and loaded" env MK_SHARED_DATA="${shared:-$work/none}" \
    python3 "$questions/datasets.py" q --merkhet "$merkhet"
plans_give_answers git 16
planner_is_right git 16
planner_says_nothing git
if [ -z "$shared" ]; then
    skip "skipped: the shared data are not there, so Bitcoin OTC and ICEWS14 were not asked"
    finish
fi
plans_give_answers bitcoinotc 18
plans_give_answers icews14 16
planner_is_right bitcoinotc 16
planner_is_right icews14 16
planner_says_nothing bitcoinotc
planner_says_nothing icews14
works "the answers are those of the raw data" python3 "$questions/truth.py" q/repo
finish
