#!/bin/bash
# The HTTP server under load for a few seconds: nothing fails, beside a writer neither. How fast it is is asked by
# bench/serve_load.sh alone, which this runs shortly.
. "$(dirname "$0")/lib.sh"
if ! command -v wrk >/dev/null; then
    skip "wrk is not there"
    finish
fi
if [ -z "$shared" ]; then
    skip "there is no shared data"
    finish
fi
works "a store of CollegeMsg" "$merkhet" replay "$shared/frozen/collegemsg.eventlog.jsonl.gz" --store s
MK_PROGRAM=$merkhet TIME=1 ROUNDS=1 REQUESTS=10000 "$repo/bench/serve_load.sh" s >said 2>errors
is "it ran to its end" "$?" 0
is "nothing was complained about" "$(cat errors)" ""
is "no request failed" "$(grep -c ' requests=[1-9][0-9]* .* failed=0\( writing=1\)\?$' said)" 3
is "the writer wrote" "$(sed -n 's/^writer operations=//p' said | awk '{ print ($1 >= 500) }')" 1
is "memory stays" "$(sed -n 's/^memory grown.*KiB *\(-\?[0-9]*\) .*/\1/p' said | awk '{ print ($1 <= 1024) }')" 1
finish
