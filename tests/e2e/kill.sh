#!/bin/bash
# kill -9 under load, again and again: what was acknowledged is there, nothing is half there.
. "$(dirname "$0")/lib.sh"

events_per_batch=200
batches_from() { # number of the first batch
    awk -v first="$1" -v n=$events_per_batch 'BEGIN {
        for (b = first; ; b++) {
            line = "{\"op\":\"ingest_events\",\"offset\":" b * n ",\"events\":["
            for (i = 0; i < n; i++)
                line = line (i ? "," : "") "{\"src\":\"b" b "\",\"dst\":\"s" (i * 13 + b) % 97 "\",\"rel_type\":\"SENT\",\"vt_s\":" b * n + i + 1 "}"
            print line "]}"
        }
    }' 2>/dev/null
}
member() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

"$merkhet" init --store s >/dev/null
sent=0 last=0 acknowledged=0
for round in 1 2 3 4 5 6 7 8 9 10; do
    rm -f acks
    "$merkhet" assert - --each --json --store s < <(batches_from $((sent / events_per_batch))) >acks 2>errors &
    writer=$!
    # Every round is killed at another moment: after so many acknowledgements.
    for _ in $(seq 1000); do
        [ -f acks ] && [ "$(wc -l <acks)" -ge $((round * 3 - 2)) ] && break
        kill -0 $writer 2>/dev/null || break
        sleep 0.01
    done
    kill -9 $writer 2>/dev/null
    wait $writer 2>/dev/null
    n=$(grep -c '"tt":[0-9]*}$' acks)
    [ "$n" -gt 0 ] || not_ok "round $round: the writer wrote" "$(cat errors)"
    acknowledged=$((acknowledged + n))
    tt=$(grep '"tt":[0-9]*}$' acks | tail -n 1 | member tt)

    # First as a reader finds it, then as the next writer leaves it. The log decides, so it is looked at
    # without the checkpoint too.
    [ $((round % 3)) -eq 0 ] && rm -rf s/data
    stats=$("$merkhet" stats --store s --json 2>&1)
    found=$(echo "$stats" | sed -n 's/.*"rel_type_counts":{"SENT":\([0-9]*\)}.*/\1/p')
    at=$(echo "$stats" | member last_tt)
    if [ -z "$found" ]; then not_ok "round $round: the store opens" "$stats"; break; fi
    is "round $round: no batch is half there ($n acknowledged)" "$((found % events_per_batch))" 0
    if [ "$found" -ge $((sent + n * events_per_batch)) ] && [ "$at" -ge "${tt:-0}" ] && [ "$at" -gt "$last" ]; then
        ok "round $round: every acknowledged batch is there"
    else
        not_ok "round $round: every acknowledged batch is there" "$found events, $sent before, $n batches acknowledged; tt $at, $tt acknowledged"
    fi
    works "round $round: the log is sound" "$merkhet" log verify --store s
    digest=$("$merkhet" digest --store s)
    works "round $round: a writer recovers it" "$merkhet" checkpoint --store s
    is "round $round: recovery changes nothing" "$("$merkhet" digest --store s 2>&1)" "$digest"
    sent=$found last=$at
done
is "the folded log has the same digest" "$("$merkhet" rebuild --store s 2>&1)" "$digest"

# A writer that dies between reading half a batch and its end leaves nothing of it.
mkfifo half
"$merkhet" assert --store s - <half >/dev/null 2>&1 &
writer=$!
exec 3>half
batches_from 0 | head -c 5000 >&3
kill -9 $writer
wait $writer 2>/dev/null
exec 3>&-
is "half a batch leaves nothing" "$("$merkhet" digest --store s)" "$digest"

# The same for an ingest of many batches: a whole number of them is there.
batches=$(seq 1 400000 | awk '{ print $1 % 997, $1 % 991, 1082040961 + $1 }' >rows.txt; echo 400)
"$merkhet" ingest rows.txt --store i --batch 1000 >/dev/null 2>&1 &
writer=$!
for _ in $(seq 500); do
    [ "$("$merkhet" log verify --store i --json 2>/dev/null | member batches)" -gt 3 ] 2>/dev/null && break
    sleep 0.01
done
kill -9 $writer 2>/dev/null
wait $writer 2>/dev/null
found=$("$merkhet" stats --store i --json | member n_edge_versions)
is "an ingest that was killed loaded whole batches ($found of $((batches * 1000)) events)" "$((found % 1000))" 0
works "and its log is sound" "$merkhet" log verify --store i
finish
