#!/bin/bash
# Readers in other processes while a writer writes: they see whole batches, more and more of them, and a
# pinned result stays what it was.
. "$(dirname "$0")/lib.sh"

member() { sed -n "s/.*\"$1\":\"\{0,1\}\([0-9a-f]*\).*/\1/p"; }
"$merkhet" assert --store s --node hub --label Hub --props '{"n":0}' --from 0 >/dev/null
pin=$("$merkhet" stats --store s --json | member last_tt)
"$merkhet" call entity_history '{"uid":"hub","include_edges":true}' --as-of-tt "$pin" --json --store s >pinned

mkfifo feed
"$merkhet" assert - --each --json --store s <feed >acks 2>errors &
writer=$!
exec 3>feed
# Ten edges and one correction a batch: a reader that sees another number saw half a batch.
feed() { # batch number
    awk -v b="$1" 'BEGIN {
        printf "["
        for (i = 0; i < 10; i++)
            printf "{\"op\":\"assert_edge\",\"src\":\"hub\",\"dst\":\"x%d\",\"rel_type\":\"R\",\"vt_s\":%d},", b * 10 + i, b
        printf "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"hub\"},\"props\":{\"n\":%d},\"vt_s\":0}]\n", b
    }' >&3
}

# One long-lived reader that is asked line by line, beside fresh ones.
mkfifo ask
"$merkhet" call --batch - --store s <ask >answers 2>reader-errors &
reader=$!
exec 4>ask
torn=0 behind=0 moved=0 fed=0
wait_for() { # file, lines
    local i
    for i in $(seq 1000); do [ "$(wc -l <"$1")" -ge "$2" ] && return; sleep 0.01; done
    not_ok "$1 gets line $2" "it has $(wc -l <"$1") after $i tries: $(cat errors reader-errors)"
}
for b in $(seq 1 60); do
    feed "$b"
    fed=$((fed + 1))
    wait_for acks $fed
    echo '{"op":"entity_history","args":{"uid":"hub"}}' >&4
    wait_for answers "$b"
    [ "$(sed -n "${b}p" answers | member n)" = "$b" ] || behind=$((behind + 1))
    if [ $((b % 6)) -eq 0 ]; then
        feed $((b + 1000)) # a writer at work while the fresh reader opens
        fed=$((fed + 1))
        edges=$("$merkhet" stats --store s --json | member n_edge_versions)
        [ $((edges % 10)) -eq 0 ] || torn=$((torn + 1))
        "$merkhet" call entity_history '{"uid":"hub","include_edges":true}' --as-of-tt "$pin" --json --store s >again
        # The extent of the data is not part of what is pinned.
        [ "$(member result_digest <again)" = "$(member result_digest <pinned)" ] || moved=$((moved + 1))
    fi
done
exec 3>&- 4>&-
wait $writer
is "the writer ended well" "$?" 0
wait $reader
is "the reader ended well" "$?" 0
is "no reader saw half a batch" "$torn" 0
is "a reader that stays open follows the log" "$behind" 0
is "a pinned result does not move" "$moved" 0
is "all was acknowledged" "$(wc -l <acks)" $fed
is "and is there" "$("$merkhet" stats --store s --json | member n_edge_versions)" 700
digest=$("$merkhet" digest --store s)
is "the folded log has the same digest" "$("$merkhet" rebuild --store s)" "$digest"

# A reader writes nothing, not even beside a store that needs recovery.
before=$(find s -type f -exec sha256sum {} + | sort)
"$merkhet" stats --store s >/dev/null; "$merkhet" log verify --store s >/dev/null; "$merkhet" log export --store s >/dev/null
is "reading changes no file" "$(find s -type f -exec sha256sum {} + | sort)" "$before"
finish
