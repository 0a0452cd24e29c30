#!/bin/bash
# The page of `merkhet serve`, clicked through in a real browser. MK_SCREENSHOTS=FOLDER keeps pictures of it.
. "$(dirname "$0")/lib.sh"
. "$repo/tests/e2e/node/lib.sh"
chromium=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$chromium" ]; then
    skip "there is no Chromium to show the page in"
    finish
fi

# 12,000 events of 400 nodes with a hub, one entity with corrections, and names that would like to be markup.
hostile='<img src=x onerror=window.pwned=1>'
awk 'BEGIN {
    print "{\"op\":\"ingest_events\",\"events\":["
    for (i = 0; i < 12000; i++) {
        s = i % 3 == 0 ? "hub" : "n" (i * 7919) % 400; d = "n" (i * 104729 + 13) % 400
        printf "%s{\"src\":\"%s\",\"dst\":\"%s\",\"rel_type\":\"TALK\",\"vt_s\":%.0f}\n", i ? "," : "", s, d, 1700000000000000 + i * 60000000
    }
    print "]}"
}' | tr -d '\n' >events.jsonl
works "a store of 12,000 events" bash -c "'$merkhet' init --store s && '$merkhet' assert --store s - <events.jsonl"
printf '%s\n' "{\"op\":\"assert_node\",\"uid\":\"$hostile\",\"label\":\"<script>window.pwned=1</script>\",\"props\":{\"name\":\"<b onmouseover=window.pwned=1>onerror</b>\"},\"vt_s\":1700000000000000}" \
    '{"op":"assert_node","uid":"changed","label":"Thing","props":{"state":"old"},"vt_s":1700000000000000}' >first.jsonl
printf '%s\n' '{"op":"correct","ref":{"kind":"node","uid":"changed"},"props":{"state":"new"},"vt_s":1700200000000000,"vt_e":1700400000000000}' >second.jsonl
works "hostile names" bash -c "'$merkhet' assert --store s - <first.jsonl"
works "a correction" bash -c "'$merkhet' correct --store s - <second.jsonl"

"$merkhet" serve --store s --port 0 --port-file port 2>served &
pid=$!
for _ in $(seq 250); do [ -s port ] && break; sleep 0.02; done
export MK_PROGRAM=$merkhet PAGE_STORE=$PWD/s
node_checks page.mjs "http://127.0.0.1:$(cat port)" "$chromium" "$hostile" ${MK_SCREENSHOTS:+"$MK_SCREENSHOTS"}
kill -TERM $pid
wait $pid
is "the server ends well" "$? $(grep -v '^serving \|^ending: ' served)" "0 "
finish
