#!/bin/bash
# Event logs in and out: digests of the reference, byte-identical exports, damage.
. "$(dirname "$0")/lib.sh"
golden=$data/golden

# The digest that the reference gives for a store, and how many of its batches fail.
expected() { awk -v name="\"$1\"" '/"store":/ { on = index($0, name) } on && /"store_digest":/ { gsub(/[",]/, ""); print $2; exit }' "$golden/manifest-00-05.json"; }
expected_failed() { awk -v name="\"$1\"" '/"store":/ { on = index($0, name) } on && /"tt":/ { n++ } END { print n + 0 }' "$golden/manifest-00-05.json"; }

for n in 00 01 02 03 04 05; do
    log=$golden/small-$n.eventlog.jsonl
    records=$(($(wc -l <"$log") - 1))
    failed=$(expected_failed "small-$n")
    is "small-$n replays to the reference's digest" "$("$merkhet" replay "$log" --store "s$n" --json)" \
        "{\"batches\":$((records - failed)),\"failed\":$failed,\"digest\":\"$(expected "small-$n")\"}"
    is "small-$n: digest reads the same" "$("$merkhet" digest --store "s$n")" "$(expected "small-$n")"
    "$merkhet" log export --store "s$n" >out.jsonl
    same_file "small-$n exports byte for byte" out.jsonl "$log"
    contains "small-$n verifies" "$("$merkhet" log verify --store "s$n" --json)" "\"batches\":$records,"
    is "small-$n rebuilds to the same digest" "$("$merkhet" rebuild --store "s$n")" "$(expected "small-$n")"
done

if [ -n "$shared" ]; then
    is "CollegeMsg replays to the reference's digest" \
        "$("$merkhet" replay "$shared/frozen/collegemsg.eventlog.jsonl.gz" --store college --json)" \
        '{"batches":10,"failed":0,"digest":"7efd7f4f0ec02cb8d8c9c30e015666bdaf3f498acaf0217d8c9f64a6e51dde58"}'
    "$merkhet" log export --store college >out.jsonl
    is "CollegeMsg exports byte for byte" "$(sha256sum <out.jsonl | cut -d' ' -f1)" \
        e1d4f611ab5f60c552e0f22b0c36603eb060122a11deb465c656c20ab0ccc037
else
    skip "the frozen CollegeMsg log is not there (MK_SHARED_DATA)"
fi

log=$golden/small-00.eventlog.jsonl
digest=$(expected small-00)
replayed() { "$merkhet" replay "$@" --json 2>warnings | sed 's/.*"digest":"\([0-9a-f]*\)"}/\1/'; }

gzip -c "$log" >log.gz
is "gzip" "$(replayed log.gz --store gz)" "$digest"
is "standard input" "$(replayed - --store stdin <"$log")" "$digest"
if command -v zstd >/dev/null; then
    zstd -q -c "$log" >log.zst
    is "zstd" "$(replayed log.zst --store zst)" "$digest"
else
    skip "zstd is not installed"
fi

# --- the target ----------------------------------------------------------------------------------

refuses "a store with batches is left alone" 1 not_empty "$merkhet" replay "$log" --store s01
is "it is as it was" "$("$merkhet" digest --store s01)" "$(expected small-01)"
"$merkhet" init --store empty >/dev/null
is "an empty store is replaced" "$(replayed "$log" --store empty)" "$digest"
mkdir folder
is "an empty folder is filled" "$(replayed "$log" --store folder)" "$digest"
mkdir foreign; echo mine >foreign/file
refuses "a foreign folder is left alone" 1 not_a_store "$merkhet" replay "$log" --store foreign
is "its file is there" "$(cat foreign/file)" mine
is "nothing is left beside the stores" "$(ls -d ./*.replay-* ./*.old-* 2>/dev/null)" ""

# --- damage --------------------------------------------------------------------------------------

head -n 20 "$log" >short.jsonl
want=$(replayed short.jsonl --store short)
{ cat short.jsonl; printf '{"batch'; } >torn1.jsonl
is "half a last line is left out" "$(replayed torn1.jsonl --store t1)" "$want"
contains "with a warning" "$(cat warnings)" '"warning":'
{ cat short.jsonl; sed -n 21p "$log" | tr -d '\n'; } >torn2.jsonl
is "a last line without its end too" "$(replayed torn2.jsonl --store t2)" "$want"
{ cat short.jsonl; sed -n 21p "$log" | sed 's/"batch_id":"./"batch_id":"-/'; } >torn3.jsonl
is "a last line with a wrong id too" "$(replayed torn3.jsonl --store t3)" "$want"
{ cat short.jsonl; printf '\n  \n'; } >blank.jsonl
is "blank lines do not count" "$(replayed blank.jsonl --store t4)" "$want"

sed '9s/"batch_id":"./"batch_id":"-/' "$log" >bad.jsonl
refuses "a wrong id before the end names its line" 1 "bad.jsonl:9" "$merkhet" replay bad.jsonl --store b1
sed '9s/^/x/' "$log" >bad.jsonl
refuses "a line that is no JSON names its line" 1 "bad.jsonl:9" "$merkhet" replay bad.jsonl --store b1
{ head -n 9 "$log"; sed -n 5p "$log"; tail -n +10 "$log"; } >bad.jsonl
refuses "a time that does not rise names its line" 1 "bad.jsonl:10" "$merkhet" replay bad.jsonl --store b1
tail -n +2 "$log" >bad.jsonl
refuses "a log without its header" 1 "first line has to be" "$merkhet" replay bad.jsonl --store b1
sed '1s/"version":1/"version":2/' "$log" >bad.jsonl
refuses "a newer version" 1 newer_format "$merkhet" replay bad.jsonl --store b1
printf '\377\n' >bad.jsonl
refuses "no text at all" 1 E_STATE "$merkhet" replay bad.jsonl --store b1
refuses "an empty file" 1 E_STATE "$merkhet" replay /dev/null --store b1
head -c 900 log.gz >bad.gz
refuses "a cut gzip file" 1 E_STATE "$merkhet" replay bad.gz --store b1
refuses "a file that is not there" 1 E_NOT_FOUND "$merkhet" replay none --store b1
works "no store came of any of them" test ! -e b1
is "and nothing is left beside it" "$(ls -d ./b1* 2>/dev/null)" ""
finish
