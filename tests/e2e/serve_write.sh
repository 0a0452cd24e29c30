#!/bin/bash
# Writing through a server: only with --write, only for whom it is allowed, as one batch; who listens is told; and when
# another process writes, the server says which one and goes on reading.
. "$(dirname "$0")/lib.sh"
if ! command -v curl >/dev/null; then
    skip "curl is not there"
    finish
fi
json='Content-Type: application/json'
fact() { printf '{"facts":[{"uid":"%s","label":"Person","vt_s":"2024-01-01"}]%s}' "$1" "${2:+,\"request_id\":\"$2\"}"; }
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}\n' "$1" "$2" "$3" "${4:-}"; }
meta=',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
init='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
code() { curl -s -o body -D head -w '%{http_code}' --max-time 20 "$@"; }
post() { local path=$1 text=$2; shift 2; code -X POST "$base$path" -H "$json" -d "$text" "$@"; }
# modern TOOL ARGUMENTS HEADERS...: a tool's call that describes itself
modern() {
    local name=$1 arguments=$2; shift 2
    post /mcp "$(call 5 "$name" "$arguments" "$meta")" -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: $name" "$@"
}
start() {
    local name=$1; shift
    rm -f "$name.port"
    "$merkhet" serve --store s --port 0 --port-file "$name.port" "$@" 2>"$name.err" &
    pid=$!
    for _ in $(seq 250); do [ -s "$name.port" ] && break; sleep 0.02; done
    base=http://127.0.0.1:$(cat "$name.port")
}
stop() { kill -TERM $pid; wait $pid; }
works "a store" "$merkhet" init --store s

# ---- standard input and output
out=$({ call 1 graph_assert "$(fact ada)"; } | "$merkhet" mcp --store s)
contains "without --write there is no such tool" "$out" '"code":-32602'
is "and none is listed" "$(printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' | "$merkhet" mcp --store s | grep -c "\"name\":\"graph_assert\"")" 0
out=$({ call 1 graph_assert "$(fact ada)"; sleep 0.3; call 2 entity_history '{"uid":"ada"}'; } | "$merkhet" mcp --store s --write --principal user:eve)
contains "with it a fact is written" "$(printf '%s\n' "$out" | grep '"id":1')" '"structuredContent":{"ops":1,"tt":'
contains "as the principal that was given at the start" "$(printf '%s\n' "$out" | grep '"id":2')" '"source":"user:eve"'
contains "hints say that it writes and destroys nothing" \
    "$(printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' | "$merkhet" mcp --store s --write)" '"title":"Retract facts","readOnlyHint":false,"destructiveHint":false'

# ---- tokens: who may
printf 'reader-token-0001 read user:ada\nwriter-token-0001 write user:bob\nwriter-token-0002 write user:cid\n' >tokens
chmod 600 tokens
start one --write --token-file tokens
ada='Authorization: Bearer reader-token-0001' bob='Authorization: Bearer writer-token-0001' cid='Authorization: Bearer writer-token-0002'
digest=$("$merkhet" digest --store s)
is "a token to read cannot write by a tool" "$(modern graph_assert "$(fact x1)" -H "$ada") $(grep -c 'insufficient_scope.*merkhet:write' head)" "403 1"
is "in a session neither" "$(post /mcp "$init" -H "$ada")" 200
session=$(tr -d '\r' <head | sed -n 's/^Mcp-Session-Id: //p')
is "by none of the three" "$(for t in graph_assert graph_retract graph_correct; do post /mcp "$(call 2 $t "$(fact x2)")" -H "$ada" -H "Mcp-Session-Id: $session"; done)" 403403403
is "nor in a batch" "$(post /mcp "[$(call 3 describe_dataset '{}'),$(call 4 graph_assert "$(fact x3)")]" -H "$ada" -H "Mcp-Session-Id: $session")" 403
is "it can still read" "$(post /mcp "$(call 6 describe_dataset '{}')" -H "$ada" -H "Mcp-Session-Id: $session")" 200
is "and nothing was written" "$("$merkhet" digest --store s)" "$digest"

# ---- a token to write, and who is told
curl -sN --max-time 10 "$base/api/events" -H "$ada" >events &
listener=$!
for _ in $(seq 100); do [ -s events ] && break; sleep 0.02; done
is "a token to write can" "$(modern graph_assert "$(fact tom)" -H "$bob") $(grep -o '"isError":true' body)" "200 "
for _ in $(seq 100); do grep -q '^event: commit' events && break; sleep 0.02; done
is "who listens is told" "$(grep -c '^event: commit' events)" 1
kill $listener; wait $listener 2>/dev/null
is "and everyone reads it" "$(post /api/ops/entity_history '{"uid":"tom"}' -H "$ada") $(grep -o '"source":"user:bob"' body)" '200 "source":"user:bob"'

# ---- a repeat
is "with a request id" "$(modern graph_assert "$(fact ron r1)" -H "$bob")" 200; cp body first
modern graph_assert "$(fact ron r1)" -H "$bob" >/dev/null
is "a repeat gives the first time" "$(grep -o '"tt":[0-9]*' body)" "$(grep -o '"tt":[0-9]*' first)"
is "the id is kept with the fact" "$(post /api/ops/entity_history '{"uid":"ron"}' -H "$bob") $(grep -o '"provenance_ref":"r1"' body)" '200 "provenance_ref":"r1"'
is "another's same id is another's" "$(modern graph_assert "$(fact kim r1)" -H "$cid") $(post /api/ops/entity_history '{"uid":"kim"}' -H "$cid")" "200 200"
is "the API and the tools share ids" "$(post /api/write '{"ops":[{"op":"assert_node","uid":"zoe","label":"P","vt_s":1}]}' -H "$bob" -H 'Idempotency-Key: r1') $(grep -o '"tt":[0-9]*' body)" "200 $(grep -o '"tt":[0-9]*' first | head -n 1)"
is "so that nothing was written twice" "$(post /api/ops/entity_history '{"uid":"zoe"}' -H "$bob")" 404
is "one of many that are wrong spoils the batch" \
    "$(modern graph_assert '{"facts":[{"uid":"good","vt_s":1},{"uid":"okf:c:bad","vt_s":1}]}' -H "$bob") $(grep -o 'ops\[1\].uid' body | head -n 1) $(post /api/ops/entity_history '{"uid":"good"}' -H "$bob")" "200 ops[1].uid 404"

# ---- another process
holder=$pid
out=$({ call 1 graph_assert "$(fact late)"; call 2 entity_history '{"uid":"tom"}'; } | "$merkhet" mcp --store s --write)
contains "who comes second is told who writes" "$(printf '%s\n' "$out" | grep '"id":1')" "\\\"holder_pid\\\":$holder"
contains "and that a repeat may do" "$(printf '%s\n' "$out" | grep '"id":1')" '\"retry\":\"as_is\"'
contains "while it reads" "$(printf '%s\n' "$out" | grep '"id":2')" '"rows_total":1'
mkfifo in
"$merkhet" mcp --store s --write <in >out 2>/dev/null &
second=$!
exec 7>in
call 1 graph_assert "$(fact late)" >&7
for _ in $(seq 100); do grep -q '"id":1' out && break; sleep 0.02; done
kill -KILL $holder; wait $holder 2>/dev/null
call 2 graph_assert "$(fact late)" >&7
for _ in $(seq 200); do grep -q '"id":2' out && break; sleep 0.02; done
contains "once the first was killed the second writes" "$(grep '"id":2' out)" '"structuredContent":{"ops":1'
exec 7>&-
wait $second
is "and ends well" $? 0
works "what both wrote is there" bash -c "'$merkhet' call entity_history '{\"uid\":\"late\"}' --store s && '$merkhet' call entity_history '{\"uid\":\"tom\"}' --store s"
finish
