#!/bin/bash
# The benchmark's answers are the published ones, and its JSON has what scripts look for.
. "$(dirname "$0")/lib.sh"
"$merkhet" bench registry --scale 20000 --store made >table 2>said
is "the registry runs" $? 0
is "thirteen queries" "$(sed 1d table | wc -l)" 13
is "all answers are as published" "$(grep -c 'as published$' table)" 13
"$merkhet" bench registry --scale 20000 --store made --json >again
is "a store that is there is used again" "$(sed 's/.*"hash":"\([0-9a-f]*\)".*/\1/' again)" \
    "$(sed 1d table | awk '{ print $(NF - 2) }')"
is "every line names query, system, scale, times, rows and hash" \
    "$(grep -c '"hash":.*"p50_ms":.*"p95_ms":.*"query":.*"rows":.*"scale":20000,"system":"merkhet"' again)" 13
is "one core is measured where there can be more" "$(grep -c '"one_thread_ms":' again)" 1
is "cold calls, from memory and from the disk, and CPU time stand apart" \
    "$(grep -c '"cold_disk_ms":.*"cold_ms":.*"cpu_ms":' again)" 13
"$merkhet" bench ops --scale 5000 --json >ops
is "every case of the micro-benchmark is measured" "$(grep -c '"verdict"' ops)/$(wc -l <ops)" "0/12"
refuses "a scale too small" 2 "from 1000 to" "$merkhet" bench registry --scale 5
finish
