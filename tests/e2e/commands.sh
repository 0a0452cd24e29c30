#!/bin/bash
# Every command once: what it prints for people, what for programs, and how it refuses.
. "$(dirname "$0")/lib.sh"

# --- help, unknown words, options ----------------------------------------------------------------

contains "help lists the commands" "$("$merkhet" help)" "log verify"
is "--help is help" "$("$merkhet" --help)" "$("$merkhet" help)"
contains "help COMMAND is its help" "$("$merkhet" help log verify)" "merkhet log verify"
contains "help of a group lists it" "$("$merkhet" log --help)" "log export"
contains "version" "$("$merkhet" version)" "merkhet 0."
contains "version as JSON" "$("$merkhet" version --json)" '{"version":"0.'
refuses "no command" 2 "name a command" "$merkhet"
refuses "an unknown command suggests the nearest" 2 'did you mean "merkhet digest"?' "$merkhet" digset
refuses "an unknown second word suggests the nearest" 2 'did you mean "merkhet log verify"?' "$merkhet" log verfy
refuses "half a command" 2 "needs one more word" "$merkhet" log
refuses "an unknown option suggests the nearest" 2 "did you mean --store?" "$merkhet" stats --sotre x
refuses "a misused option under --json" 2 '"reason":"usage"' "$merkhet" stats --json --nope
refuses "a missing value" 2 "needs a value" "$merkhet" stats --store
refuses "a value for a flag" 2 "takes no value" "$merkhet" stats --json=1
refuses "too many words" 2 "too many words" "$merkhet" digest extra
refuses "too few words" 2 "write merkhet ingest FILE" "$merkhet" ingest
refuses "an unknown class to show" 2 "resolution,knowledge,notes" "$merkhet" stats --show secrets
refuses "a number that is none" 2 "not a whole number" "$merkhet" log show --limit many
refuses "a time that is none" 1 "--as-of-tt" "$merkhet" call entity_history '{}' --as-of-tt yesterday

# --- where the store is --------------------------------------------------------------------------

works "init creates a store" "$merkhet" init --store s
contains "init again changes nothing" "$("$merkhet" init --store s)" "was there already"
is "init as JSON" "$("$merkhet" init --store s --json | cut -c 1-17)" '{"created":false,'
is "the store may come from the environment" "$(MERKHET_STORE=s "$merkhet" digest)" "$("$merkhet" digest --store s)"
is "--store=DIR and -s DIR" "$("$merkhet" digest --store=s)" "$("$merkhet" digest -s s)"
is "a trailing slash does not matter" "$("$merkhet" digest --store s/)" "$("$merkhet" digest --store s)"
works "the default is ./.merkhet" "$merkhet" init
works "it was made there" test -f .merkhet/merkhet.json
refuses "reading creates nothing" 1 E_NOT_FOUND "$merkhet" digest --store none
works "no store came of it" test ! -e none

# --- writing -------------------------------------------------------------------------------------

is "assert from options" "$("$merkhet" assert --store w --node ada --label Person --props '{"b":1.0,"a":"x"}' \
    --from 2024-01-01 --to 2025-01-01 --source test --provenance-ref t1 --json | cut -c 1-14)" '{"ops":1,"tt":'
contains "the version holds what was said" "$("$merkhet" call entity_history '{"uid":"ada"}' --json --store w)" \
    '"label":"Person","props":{"a":"x","b":1.0},"provenance_ref":"t1","source":"test"'
contains "and the times" "$("$merkhet" call entity_history '{"uid":"ada"}' --json --store w)" \
    '"vt_e":1735689600000000,"vt_s":1704067200000000'
works "an edge with endpoints" "$merkhet" assert --store w --edge ada KNOWS bob --disc first --from 5 --create-endpoints --label Human
contains "the endpoint was made" "$("$merkhet" call entity_history '{"uid":"bob"}' --json --store w)" '"label":"Human"'
is "an endpoint with a version is left alone" \
    "$("$merkhet" call entity_history '{"uid":"ada"}' --json --store w | grep -o '"vid"' | wc -l)" 1
works "an edge without endpoints" "$merkhet" assert --store w --edge x KNOWS y
contains "makes no node" "$("$merkhet" call entity_history '{"uid":"x"}' --json --store w)" '"rows":[]'
works "correct from options" "$merkhet" correct --store w --node ada --props '{"c":2}' --from 2024-03-01 --to 2024-04-01
is "correct carves" "$("$merkhet" call entity_history '{"uid":"ada"}' --json --store w | grep -o '"rows_total":[0-9]*')" '"rows_total":3'
works "retract from options" "$merkhet" retract --store w --node ada --at 2024-06-01
contains "retract cuts" "$("$merkhet" call entity_history '{"uid":"ada"}' --json --store w)" '"vt_e":1717200000000000'
works "retract of an edge" "$merkhet" retract --store w --edge ada KNOWS bob --disc first --at 1000
refuses "correct of nothing" 1 E_NOT_FOUND "$merkhet" correct --store w --node nobody --props '{}'
refuses "neither node nor edge" 2 "neither --node nor --edge" "$merkhet" assert --store w --from 1
refuses "both" 2 "exclude each other" "$merkhet" assert --store w --node a --edge a b c
refuses "options and lines" 2 "exclude each other" "$merkhet" assert - --store w --node a
refuses "properties that are no object" 1 "no JSON object" "$merkhet" assert --store w --node a --props '[1]'
refuses "retract without a time" 2 "--at is missing" "$merkhet" retract --store w --node ada
refuses "an empty interval" 1 E_INVALID_ARG "$merkhet" assert --store w --node a --from 5 --to 5
refuses "an empty batch" 1 "no operation to write" "$merkhet" assert --store w - </dev/null

before=$("$merkhet" digest --store w)
refuses "one bad line refuses the batch" 1 'ops[1]' "$merkhet" assert --store w - <<'OPS'
{"op":"assert_node","uid":"n1","label":"L","props":{},"vt_s":0}
{"op":"assert_node","uid":"","label":"L","props":{},"vt_s":0}
OPS
refuses "a line that is no JSON names its place" 1 'ops[1]' "$merkhet" assert --store w <<'OPS'
{"op":"assert_node","uid":"n1","label":"L","props":{},"vt_s":0}
{"op":
OPS
refuses "a failing op takes the others along" 1 E_NOT_FOUND "$merkhet" assert --store w <<'OPS'
{"op":"assert_node","uid":"n1","label":"L","props":{},"vt_s":0}
{"op":"retract","ref":{"kind":"node","uid":"nobody"},"t":5}
OPS
is "nothing of them is there" "$("$merkhet" digest --store w)" "$before"
is "an array is one batch too" "$(echo '[{"op":"assert_node","uid":"m1","label":"L","vt_s":0},{"op":"assert_node","uid":"m2","label":"L","vt_s":0}]' |
    "$merkhet" assert --store w --json | cut -c 1-9)" '{"ops":2,'

first=$("$merkhet" assert --store w --node once --request-id r1 --json)
digest=$("$merkhet" digest --store w)
is "a repeated request gives the first time" "$("$merkhet" assert --store w --node once --request-id r1 --json)" "$first"
is "and writes nothing" "$("$merkhet" digest --store w)" "$digest"

is "--each acknowledges every line" "$(printf '%s\n' '{"op":"assert_node","uid":"e1","label":"L","vt_s":0}' '' \
    '{"op":"assert_node","uid":"e2","label":"L","vt_s":0}' | "$merkhet" assert - --each --store w --json | grep -c '"tt"')" 2
printf '%s\n' '{"op":"assert_node","uid":"e3","label":"L","vt_s":0}' 'nonsense' >lines
"$merkhet" assert - --each --store w --json <lines >acks 2>errors
is "--each stops at the first bad line" "$?" 1
contains "and names it" "$(cat errors)" "line 2"
contains "what came before is there" "$("$merkhet" call entity_history '{"uid":"e3"}' --json --store w)" '"rows_total":1'

# --- reading -------------------------------------------------------------------------------------

is "digest prints the digest alone" "$("$merkhet" digest --store w | grep -cE '^[0-9a-f]{64}$')" 1
is "digest as JSON" "$("$merkhet" digest --store w --json)" "{\"digest\":\"$("$merkhet" digest --store w)\"}"
stats=$("$merkhet" stats --store w --json)
for field in n_entities n_node_versions n_edge_versions vt_min vt_max rel_type_counts max_out_degree last_tt; do
    contains "stats has $field" "$stats" "\"$field\":"
done
for part in log segments indexes dictionary other total; do contains "bytes on disk: $part" "$stats" "\"$part\":"; done
contains "stats count by relation type" "$stats" '"rel_type_counts":{"KNOWS":'
contains "stats for people have both forms of a time" "$("$merkhet" stats --store w)" "1970-01-01T00:00:00Z)"

now=$("$merkhet" call entity_history '{"uid":"ada"}' --store w --json)
contains "a call answers with its envelope" "$now" '"op":"entity_history"'
is "arguments from standard input" "$(echo '{"uid":"ada"}' | "$merkhet" call entity_history - --store w --json)" "$now"
contains "--as-of-tt asks for an earlier belief" \
    "$("$merkhet" call entity_history '{"uid":"ada"}' --store w --json --as-of-tt 1970-01-02)" '"as_of_tt":86400000000'
refuses "as_of_tt twice" 1 "given twice" "$merkhet" call entity_history '{"uid":"ada","as_of_tt":5}' --as-of-tt 5 --store w
is "--as-of is valid time" "$("$merkhet" call snapshot_subgraph '{"seeds":["ada"],"hops":1}' --as-of 1970-01-02 --store w --json)" \
    "$("$merkhet" call snapshot_subgraph '{"seeds":["ada"],"hops":1,"t_valid":86400000000}' --store w --json)"
refuses "--as-of where there is no such time" 1 "--as-of-tt" "$merkhet" call entity_history '{"uid":"ada"}' --as-of 5 --store w
contains "--explain shows the cost" "$("$merkhet" call entity_history '{"uid":"ada"}' --store w --json --explain)" '"estimate":{'
refuses "an unknown operator" 1 E_INVALID_ARG "$merkhet" call no_such --store w
refuses "an unknown uid, as JSON" 1 '"error":"E_NOT_FOUND"' "$merkhet" call entity_history '{"uid":"zz"}' --store w --json
refuses "arguments that are no JSON" 1 E_SCHEMA "$merkhet" call entity_history '{' --store w
contains "tables for people have both forms of a time" "$("$merkhet" call entity_history '{"uid":"ada"}' --store w)" \
    "1704067200000000 (2024-01-01T00:00:00Z)"
contains "ops lists the operators" "$("$merkhet" ops)" "snapshot_subgraph"
contains "ops OP is the manual" "$("$merkhet" ops entity_history)" "include_edges"
contains "ops OP --json is the schema" "$("$merkhet" ops entity_history --json)" '"arguments":{'
refuses "ops of an unknown operator" 1 "entity_history" "$merkhet" ops entity_histroy

# --- many calls ----------------------------------------------------------------------------------

cat >calls <<'CALLS'
{"op":"entity_history","args":{"uid":"ada"}}
not json
{"op":"nope","args":{}}
{"op":"entity_history","args":{"uid":"nobody"}}
{"args":{"uid":"ada"}}
[1,2]

{"op":"entity_history","args":{"uid":"bob"}}
CALLS
"$merkhet" call --batch - --store w <calls >answers
is "a batch of calls succeeds whatever its calls do" "$?" 0
is "one line for each line" "$(wc -l <answers)" 8
is "the first answer is that of the single call" "$(sed -n 1p answers)" "$now"
contains "garbage is answered by an error" "$(sed -n 2p answers)" '"error":"E_SCHEMA"'
contains "an unknown operator too" "$(sed -n 3p answers)" '"error":"E_INVALID_ARG"'
contains "an unknown uid too" "$(sed -n 4p answers)" '"error":"E_NOT_FOUND"'
contains "a call without an operator too" "$(sed -n 5p answers)" '"error":"E_SCHEMA"'
contains "an array too" "$(sed -n 6p answers)" '"error":"E_SCHEMA"'
contains "an empty line too" "$(sed -n 7p answers)" '"error":"E_SCHEMA"'
contains "and it goes on" "$(sed -n 8p answers)" '"uid":"bob"'
is "from a file" "$("$merkhet" call --batch calls --store w | cmp - answers && echo same)" same
refuses "a batch and an operator" 2 "named in the lines" "$merkhet" call entity_history --batch - --store w

# --- the log, upkeep -----------------------------------------------------------------------------

contains "log verify counts" "$("$merkhet" log verify --store w)" "the log is sound"
contains "log verify as JSON" "$("$merkhet" log verify --store w --json)" '"torn":false'
contains "log show" "$("$merkhet" log show --store w)" "1 assert_node"
is "log show --limit" "$("$merkhet" log show --store w --limit 2 2>warning | wc -l)" 2
contains "says that more follow" "$(cat warning)" "more follow"
is "log show --json holds the record" "$("$merkhet" log show --store w --json --limit 1 2>/dev/null | grep -c '"record":{"batch_id":"')" 1
tt=$("$merkhet" log show --store w --json 2>/dev/null | sed -n '3s/.*"tt":\([0-9]*\)}}$/\1/p')
is "log show --from" "$("$merkhet" log show --store w --from "$tt" 2>/dev/null | head -n 1 | cut -d' ' -f1)" "$tt"
digest=$("$merkhet" digest --store w)
works "checkpoint" "$merkhet" checkpoint --store w
works "compact" "$merkhet" compact --store w
is "rebuild prints the same digest" "$("$merkhet" rebuild --store w)" "$digest"
rm -rf w/data
is "derived files may be deleted" "$("$merkhet" digest --store w)" "$digest"

# --- ingest --------------------------------------------------------------------------------------

printf '1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n' >edges.txt
works "an edge list" "$merkhet" ingest edges.txt --store i --rel-type MSG
contains "the relation type" "$("$merkhet" stats --store i --json)" '"rel_type_counts":{"MSG":3}'
works "compressed, from standard input" sh -c "gzip -c edges.txt | '$merkhet' ingest - --store i2 --rel-type MSG"
contains "same rows" "$("$merkhet" stats --store i2 --json)" '"rel_type_counts":{"MSG":3}'
contains "the report" "$("$merkhet" ingest edges.txt --store i3 --json)" '"rows":3'
printf '1 2 1082040961\n1 2\n3 4 1082155839\n' >bad.txt
refuses "a bad row names its line" 1 "bad.txt:2" "$merkhet" ingest bad.txt --store i4
refuses "as JSON it says how far it got" 1 '"loaded":{"batches":0,"done_line":' "$merkhet" ingest bad.txt --store i4 --json
contains "nothing is half loaded" "$("$merkhet" stats --store i4 --json)" '"n_edge_versions":0'
contains "--skip-bad passes over it" "$("$merkhet" ingest bad.txt --store i4 --skip-bad 1 --json)" '"skipped":1'
refuses "a file that is not there" 1 E_NOT_FOUND "$merkhet" ingest none.txt --store i5
works "makes no store" test ! -e i5
refuses "an unknown format" 2 "one of auto, edges" "$merkhet" ingest edges.txt --format tar --store i5
refuses "ingest takes no reserved uid" 1 E_INVALID_ARG sh -c "echo '{\"op\":\"assert_node\",\"uid\":\"tk:x\",\"label\":\"L\",\"vt_s\":0}' | '$merkhet' ingest - --format jsonl --store i6"

finish
