#!/bin/bash
# The main job in under half a minute: real data in, corrected, asked about at two beliefs, a writer
# killed in the middle of a batch, recovery, proof. Every step checks itself; the first that fails ends it.
#
# From the Makefile: MK_PROGRAM, the built program. Works in a fresh folder and removes it.
set -euo pipefail
export LC_ALL=C TZ=UTC
here=$(cd "$(dirname "$0")/.." && pwd)
program=${MK_PROGRAM:-$here/build/merkhet}
work=$(mktemp -d)
writer=
cleanup() {
    [ -z "$writer" ] || kill -9 "$writer" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'echo "demo: the step above failed (line $LINENO)" >&2' ERR
cd "$work"
began=$(date +%s)

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m'; plain=$'\033[0m'; fi
step() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
say() { printf '%s\n' "$@"; }
merkhet() { "$program" "$@"; }
# Shows a command as a reader would type it, and runs it.
run() {
    local word line='$'
    for word; do
        case $word in *[!A-Za-z0-9_./:=-]*) line+=" '$word'" ;; *) line+=" $word" ;; esac
    done
    printf '%s%s%s\n' "$bold" "$line" "$plain"
    "$@"
}
fail() { printf 'demo: %s\n' "$1" >&2; exit 1; }
member() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2" | tail -n 1; } # a number or word in JSON

# --- what it works on ----------------------------------------------------------------------------

# A repository of 60 commits by three people, with renames and deletions; the same bytes every time.
make_repository() {
    git init -q "$1"
    git -C "$1" symbolic-ref HEAD refs/heads/main
    awk 'BEGIN {
        split("Ada Lovelace <ada@example.org>|Grace Hopper <grace@example.org>|Alan Turing <alan@example.org>", who, "|")
        for (i = 1; i <= 60; i++) {
            at = 1704103200 + i * 43200
            text = "change " i; body = "line " i "\n"
            printf "commit refs/heads/main\nmark :%d\n", i
            printf "author %s %d +0000\ncommitter %s %d +0000\n", who[i % 3 + 1], at, who[i % 3 + 1], at + 600
            printf "data %d\n%s\n", length(text), text
            if (i > 1) printf "from :%d\n", i - 1
            if (i == 30) print "R src/part3.c src/engine.c"
            else if (i == 45) print "D src/part7.c"
            else printf "M 100644 inline src/part%d.c\ndata %d\n%s\n", i % 9, length(body), body
        }
    }' | git -C "$1" fast-import --quiet
}

# Staff of a company on two clocks. 400 people and who they report to, as first recorded.
make_staff() {
    awk 'BEGIN {
        for (i = 1; i <= 400; i++) {
            start = 1577836800 + (i * 7919 % 1000) * 86400
            printf "{\"op\":\"assert_node\",\"uid\":\"p%d\",\"label\":\"Person\",", i
            printf "\"props\":{\"grade\":%d,\"team\":\"%s\"},\"vt_s\":%d000000}\n", 1 + i % 7, substr("ABCDE", i % 5 + 1, 1), start
            if (i > 1)
                printf "{\"op\":\"assert_edge\",\"src\":\"p%d\",\"rel_type\":\"REPORTS_TO\",\"dst\":\"p%d\",\"vt_s\":%d000000}\n", i, int(i / 2), start
        }
    }'
}
# What is learned later: grades that were recorded wrongly, each over its own half year.
make_corrections() { # seed
    awk -v seed="$1" 'BEGIN {
        for (i = 1; i <= 400; i += 4) {
            from = 1672531200 + (i * seed % 300) * 86400
            printf "{\"op\":\"correct\",\"ref\":{\"kind\":\"node\",\"uid\":\"p%d\"},", i
            printf "\"props\":{\"grade\":%d,\"team\":\"%s\"},\"vt_s\":%d000000,\"vt_e\":%d000000}\n", 1 + (i + seed) % 9, substr("ABCDE", i % 5 + 1, 1), from, from + 180 * 86400
        }
    }'
}
# Batches of 1,000 events each, without end: something for a writer to be killed in.
make_events() {
    awk 'BEGIN {
        for (b = 0; ; b++) {
            line = "{\"op\":\"ingest_events\",\"offset\":" b * 1000 ",\"events\":["
            for (i = 0; i < 1000; i++)
                line = line (i ? "," : "") "{\"src\":\"s" (b * 31 + i * 7) % 997 "\",\"dst\":\"s" (i * 13 + 1) % 997 "\",\"rel_type\":\"SENT\",\"vt_s\":" sprintf("1700000%09d", b * 1000 + i) "}"
            print line "]}"
        }
    }' 2>/dev/null || true
}

# --- the steps -----------------------------------------------------------------------------------

step '1. Load a real history: git commits, with the date of each change as valid time'
make_repository project
run merkhet init --store demo
run merkhet ingest --format git project --store demo
commits=$(git -C "$here" rev-list --count HEAD 2>/dev/null || echo 0)
if [ "$commits" -ge 50 ]; then
    say '' 'And the history of this repository:'
    ln -s "$here" merkhet-source
    run merkhet ingest --format git merkhet-source --store demo
fi
say '' 'src/part3.c was renamed in commit 30 and written anew later, so it held over two stretches of time:'
run merkhet call entity_history '{"uid":"file:src/part3.c"}' --store demo >history.txt
cat history.txt
grep -q '"path":"src/part3.c"' history.txt || fail 'the renamed file has no history'

step '2. Load a data set with two clocks: staff records, and what was learned about them later'
make_staff >staff.jsonl
run merkhet ingest staff.jsonl --source hr-export --store demo
before=$(merkhet stats --json --store demo >stats.json && member last_tt stats.json)
make_corrections 17 >corrections-1.jsonl
say '' '100 grades turn out to be wrong. One atomic batch of corrections:'
run merkhet correct --source audit-1 --store demo <corrections-1.jsonl

step '3. Ask about one person at two beliefs'
say 'What is believed now: the grade was another for half a year.'
run merkhet call entity_history '{"uid":"p41"}' --store demo >now.txt
cat now.txt
say '' "What was believed before the correction (--as-of-tt $before):"
run merkhet call entity_history '{"uid":"p41"}' --store demo --as-of-tt "$before" >then.txt
cat then.txt
grep -q '^rows_total *3' now.txt || fail 'the correction is not to be seen'
grep -q '^rows_total *1' then.txt || fail 'the past belief shows the correction'

step '4. A result pinned to a past belief never changes again'
pin=$(merkhet stats --json --store demo >stats.json && member last_tt stats.json)
for i in $(seq 400); do echo "{\"op\":\"entity_history\",\"args\":{\"uid\":\"p$i\",\"include_edges\":true}}"; done >questions.jsonl
merkhet call --batch questions.jsonl --store demo --as-of-tt "$pin" >pinned-before.jsonl
make_corrections 23 >corrections-2.jsonl
run merkhet correct --source audit-2 --store demo <corrections-2.jsonl
merkhet call --batch questions.jsonl --store demo --as-of-tt "$pin" >pinned-after.jsonl
merkhet call --batch questions.jsonl --store demo >now.jsonl
cmp pinned-before.jsonl pinned-after.jsonl || fail 'a pinned result has changed'
! cmp -s pinned-after.jsonl now.jsonl || fail 'the second correction had no effect'
grep -q '"error"' pinned-after.jsonl && fail 'a question was refused'
digests() { sed 's/.*"result_digest":"\([0-9a-f]*\)".*/\1/' "$1"; }
changed=$(diff <(digests pinned-after.jsonl) <(digests now.jsonl) | grep -c '^>' || true)
say "The history of all 400 people, pinned before those 100 corrections and asked for again after them:" \
    "$(wc -c <pinned-after.jsonl) bytes, identical (SHA-256 $(sha256sum <pinned-after.jsonl | cut -c 1-16)...). Asked about now," \
    "$changed of the 400 answers differ."

step '5. Kill a writer in the middle of a batch'
"$program" assert - --each --json --store demo < <(make_events) >acknowledged.jsonl 2>writer.err &
writer=$!
for _ in $(seq 200); do
    [ "$(wc -l <acknowledged.jsonl)" -lt 20 ] || break
    kill -0 "$writer" 2>/dev/null || { cat writer.err >&2; fail 'the writer ended by itself'; }
    sleep 0.05
done
{ kill -9 "$writer" && wait "$writer"; } 2>/dev/null || true # the shell's own "Killed" says nothing new
writer=
acknowledged=$(wc -l <acknowledged.jsonl)
[ "$acknowledged" -ge 20 ] || fail 'the writer was too slow'
say "kill -9 after $acknowledged acknowledged batches of 1,000 events"

step '6. Recover: all that was acknowledged is there, nothing is half there'
merkhet checkpoint --store demo
merkhet stats --json --store demo >stats.json
sent=$(member SENT stats.json)
last=$(sed -n "$acknowledged"'s/.*"tt":\([0-9]*\)}.*/\1/p' acknowledged.jsonl)
say "events in the store: $sent"
[ $((sent % 1000)) -eq 0 ] || fail 'a batch is half there'
[ "$sent" -ge $((acknowledged * 1000)) ] || fail 'an acknowledged batch is lost'
[ "$(member last_tt stats.json)" -ge "$last" ] || fail 'the newest acknowledged batch is lost'
run merkhet log verify --store demo

step '7. Only the log counts: delete what is derived, fold the log, get the same digest'
digest=$(merkhet digest --store demo)
rm -rf demo/data
run merkhet rebuild --store demo | tee rebuilt.txt
[ "$(tail -n 1 rebuilt.txt)" = "$digest" ] || fail 'the digest has changed'
say 'and an exported log makes the same store elsewhere:'
merkhet log export --store demo >log.jsonl
run merkhet replay log.jsonl --store copy
[ "$(merkhet digest --store copy)" = "$digest" ] || fail 'the copy differs'

step '8. Ask in words: two questions that this store says it can answer, each checked against its results'
merkhet ask --store demo | sed -n 's/^  //p' >questions.txt
[ "$(wc -l <questions.txt)" -ge 2 ] || fail 'the store knows no questions'
head -n 2 questions.txt >two.txt
while IFS= read -r question; do
    run merkhet ask "$question" --store demo
done <two.txt

step "Done in $(($(date +%s) - began)) s: loaded, corrected, asked at two beliefs, killed, recovered, verified, rebuilt, questioned."
