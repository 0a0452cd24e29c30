#!/bin/bash
# Two tokens and one store: what one principal made, no other gets, by whatever surface it asks; and what is no entity of a
# user is there for an administrator only. Whatever another is told is what he would be told had it never been.
. "$(dirname "$0")/lib.sh"
if ! command -v curl >/dev/null; then
    skip "curl is not there"
    finish
fi
json='Content-Type: application/json'
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
init='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
"$merkhet" assert --store s --edge ada WROTE_TO bob --from 2024-05-01 --to 2024-05-02 --create-endpoints >/dev/null
works "a store with notes" "$merkhet" memory build --store s
# What marks the note, wherever it shows: its identity and its label.
note=mn:window:604800000000:1714003200000000
printf 'ada-has-this-token read,write user:ada\nbob-has-this-token read,write user:bob\nroot-has-this-token admin user:root\n' >tokens
chmod 600 tokens
"$merkhet" serve --store s --port 0 --port-file port --token-file tokens --write --log --show notes 2>err &
pid=$!
for _ in $(seq 250); do [ -s port ] && break; sleep 0.02; done
base=http://127.0.0.1:$(cat port)
for who in ada bob root; do
    curl -s -D head -o /dev/null -X POST "$base/mcp" -H "$json" -H "Authorization: Bearer $who-has-this-token" -d "$init"
    declare "session_$who=$(tr -d '\r' <head | sed -n 's/^Mcp-Session-Id: //p')"
done

# as WHO PATH [BODY]: status and body of a request
as() { curl -s -w '\n%{http_code}' --max-time 20 -H "Authorization: Bearer $1-has-this-token" ${3:+-X POST -H "$json" -d "$3"} "$base$2"; }
# rpc WHO METHOD PARAMS [NAME]: the same request in a session and of the modern era; what both say
rpc() {
    local session=session_$1
    curl -s --max-time 20 -X POST "$base/mcp" -H "$json" -H "Authorization: Bearer $1-has-this-token" -H "Mcp-Session-Id: ${!session}" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"$2\",\"params\":{$3}}"
    echo
    curl -s --max-time 20 -X POST "$base/mcp" -H "$json" -H "Authorization: Bearer $1-has-this-token" -H 'MCP-Protocol-Version: 2026-07-28' \
        -H "Mcp-Method: $2" ${4:+-H "Mcp-Name: $4"} -d "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"$2\",\"params\":{$3${3:+,}$meta}}"
    echo
}
tool() { rpc "$1" tools/call "\"name\":\"$2\",\"arguments\":$3" "$2"; }
read_uri() { rpc "$1" resources/read "\"uri\":\"$2\"" "$2"; }
# How often a text stands in what was said.
times() { grep -oF -- "$1" | wc -l; }

# ---- handles: ada makes one of each kind, by each way
result=$(as ada /api/op '{"op":"entity_history","args":{"uid":"ada"}}' | grep -o '"result_digest":"[0-9a-f]*"' | cut -d'"' -f4)
by_tool=$(tool ada neighborhood_evolution '{"uid":"ada","hops":1,"window":{"t_a":"2024-01-01","t_b":"2025-01-01"}}' | grep -o '"result_digest":"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4)
[ -n "$by_tool" ] || by_tool=$(tool ada resolve_entities '{"query":"ada"}' | grep -o '"result_digest":"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4)
plan='{\"answer_spec\":{\"from\":\"s1.rows_total\",\"kind\":\"count\"},\"plan_id\":\"p\",\"steps\":[{\"args\":{\"uid\":\"bob\"},\"depends_on\":[],\"id\":\"s1\",\"op\":\"entity_history\"}]}'
ran=$(as ada /api/plan/run "{\"plan\":\"$plan\"}")
by_plan=$(printf '%s' "$ran" | grep -o '"result_digest":"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4)
plan_trace=$(printf '%s' "$ran" | grep -o '"trace_id":"[0-9a-f]*"' | cut -d'"' -f4)
answer=$(as ada /api/ask '{"question":"How many versions does ada have?"}' | grep -o '"trace":"[0-9a-f]*"' | cut -d'"' -f4)
for handle in "$result" "$by_tool" "$by_plan" "$plan_trace" "$answer"; do is "a handle was made" "${#handle}" 64; done

unknown=$(printf '0%.0s' $(seq 64))
for path in "results/$result" "results/$by_tool" "results/$by_plan" "traces/$answer" "answers/$answer"; do
    is "ada reads ${path%%/*}" "$(as ada "/api/$path" | tail -n 1)" 200
    is "bob does not, and is told what he would be of any other" \
        "$(as bob "/api/$path" | sed 's/[0-9a-f]\{64\}/D/g; s/"instance":"[^"]*"//')" "$(as bob "/api/${path%%/*}/$unknown" | sed 's/[0-9a-f]\{64\}/D/g; s/"instance":"[^"]*"//')"
    is "nor an administrator" "$(as root "/api/$path" | tail -n 1)" 404
done
for uri in "result/$result" "result/$by_tool" "result/$by_plan" "trace/$plan_trace" "trace/$answer" "answer/$answer"; do
    is "ada reads merkhet://${uri%%/*} in both eras" "$(read_uri ada "merkhet://$uri" | times '"contents":[{')" 2
    is "bob does not, in either, and is told what he would be of any other" \
        "$(read_uri bob "merkhet://$uri" | sed 's/[0-9a-f]\{64\}/D/g')" "$(read_uri bob "merkhet://${uri%%/*}/$unknown" | sed 's/[0-9a-f]\{64\}/D/g')"
done
compute="{\"fn\":\"count\",\"input_ref\":\"$result.rows\"}"
is "ada computes over her result" "$(tool ada compute "$compute" | times '"isError":true')" 0
is "bob does not" "$(tool bob compute "$compute" | times 'E_NOT_FOUND')" 2
is "nor over the API" "$(as bob '/api/ops/compute?form=wire' "$compute" | tail -n 1)" 404
claims="\"text\":\"It has 1.\",\"claims\":[{\"id\":\"c1\",\"type\":\"count\",\"value\":1,\"evidence\":[\"$result\"],\"from\":\"$result.rows_total\"}]"
is "ada has an answer over it checked" "$(as ada /api/verify "{$claims}" | times '"verdict":"supported"')" 1
is "bob does not" "$(as bob /api/verify "{$claims}" | times '"verdict":"supported"')" 0
is "nor by the tool" "$(tool bob verify_answer "{$claims}" | times 'verdict\":\"supported')" 0
is "ada's list of traces has hers" "$(as ada /api/traces | times "$answer")" 1
is "bob's has none" "$(as bob /api/traces)" '{"traces":[]}
200'
is "lists of resources name no handle" "$(for who in ada bob; do rpc $who resources/list ''; rpc $who resources/templates/list ''; done | grep -cE '[0-9a-f]{64}')" 0
is "no completion does" "$(rpc bob completion/complete '"ref":{"type":"ref/resource","uri":"merkhet://result/{digest}"},"argument":{"name":"digest","value":""}' | grep -cE '[0-9a-f]{64}')" 0
is "the same result made by bob is his too" "$(as bob /api/op '{"op":"entity_history","args":{"uid":"ada"}}' >/dev/null; as bob "/api/results/$result" | tail -n 1)" 200
is "and stays ada's" "$(as ada "/api/results/$result" | tail -n 1)" 200

# ---- what is no entity of a user
"$merkhet" call entity_history "{\"uid\":\"$note\"}" --store s --show notes >/dev/null && ok "the note is there" || not_ok "the note is there"
history="{\"uid\":\"$note\"}"
window='{"t_a":"2024-04-01","t_b":"2024-07-01"}'
# What each surface says to WHO that may have the note in it: every line names its surface.
surfaces() {
    local who=$1
    echo "op $(as "$who" /api/op "{\"op\":\"entity_history\",\"args\":$history}")"
    echo "named $(as "$who" /api/ops/entity_history "$history")"
    echo "wire $(as "$who" '/api/ops/entity_history?form=wire' "$history")"
    echo "tool $(tool "$who" entity_history "$history")"
    echo "names $(as "$who" /api/ops/resolve_entities '{"query":"mn:"}')"
    echo "names by tool $(tool "$who" resolve_entities '{"query":"mn:"}')"
    echo "versions $(as "$who" /api/ops/version_history "{\"kind\":\"node\",\"window\":$window,\"limit\":1000}")"
    echo "snapshot $(as "$who" /api/ops/snapshot_subgraph '{"uids":["ada"],"t":"2024-05-01","hops":2}')"
    echo "card $(tool "$who" describe_dataset '{}')"
    echo "card as resource $(read_uri "$who" merkhet://dataset/card)"
    echo "info $(as "$who" /api/info)"
    echo "completion $(rpc "$who" completion/complete '"ref":{"type":"ref/prompt","name":"entity_timeline"},"argument":{"name":"entity","value":"mn:"}')"
    echo "question $(as "$who" /api/ask "{\"question\":\"How many versions does $note have?\"}")"
    echo "plan $(as "$who" /api/plan/run "{\"plan\":\"${plan//\\\"bob\\\"/\\\"$note\\\"}\"}")"
    echo "difference $(as "$who" /api/explain_diff "{\"question\":\"How many versions does $note have?\",\"tt_before\":1,\"uids\":[\"$note\"]}")"
}
surfaces root >of_root
surfaces ada >of_ada
is "an administrator reads it by an operator" "$(grep '^op ' of_root | times '"rows_total":1')" 1
is "by its name" "$(grep '^named ' of_root | times '"rows_total":1')" 1
is "in wire form" "$(grep '^wire ' of_root | times '"rows_total":1')" 1
is "by the tool in both eras" "$(sed -n '/^tool /,/^names /p' of_root | times '"structuredContent":{"op":"entity_history"')" 2
is "sees its label on the card" "$(sed -n '/^card {/p' of_root | times '"Note":1')" 1
is "and has it completed, in both eras" "$(sed -n '/^completion /,/^question /p' of_root | times "\"values\":[\"$note\"]")" 2
# Others see its name only where they gave it themselves, in an error or an echo, and nothing that it has.
for word in '"label":"Note"' '"Note":1' '\"Note\":1' n_events window_digest; do
    is "others never see $word" "$(times "$word" <of_ada)" 0
done
is "by an operator there is none" "$(grep -A1 '^op ' of_ada | times '"error":"E_NOT_FOUND"')" 1
is "by its name there is none" "$(sed -n '/^named /,/^wire /p' of_ada | grep -cx 404)" 1
is "in wire form there is none" "$(sed -n '/^wire /,/^tool /p' of_ada | grep -cx 404)" 1
is "by the tool there is none" "$(sed -n '/^tool /,/^names /p' of_ada | times 'E_NOT_FOUND')" 2
is "a list of names has none" "$(sed -n '/^names /,/^versions /p' of_ada | times 'mn:window')" 0
is "nor has one of versions, or a neighbourhood" "$(sed -n '/^versions /,/^card /p' of_ada | times 'mn:')" 0
is "a completion has none" "$(sed -n '/^completion /,/^question /p' of_ada | times '"values":[]')" 2
is "a question knows none" "$(sed -n '/^question /,/^plan /p' of_ada | times '"abstained":true')" 1
is "a plan cannot name it" "$(sed -n '/^plan /,/^difference /p' of_ada | times '"status":"ok"')" 0
versions() { as "$1" /metrics | sed -n 's/^merkhet_store_versions //p'; }
is "counters count what may be seen" "$([ "$(versions ada)" -lt "$(versions root)" ] && echo fewer)" fewer
is "one that was never written is refused in the same words" \
    "$(as ada /api/ops/entity_history "$history" | sed "s/$note/X/g; s/\"instance\":\"[^\"]*\"//")" "$(as ada /api/ops/entity_history '{"uid":"mn:never"}' | sed 's/mn:never/X/g; s/"instance":"[^"]*"//')"

# ---- sessions, events, counters, logs
is "nobody uses the session of another" "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$base/mcp" -H "$json" -H 'Authorization: Bearer bob-has-this-token' -H "Mcp-Session-Id: $session_ada" -d '{"jsonrpc":"2.0","id":2,"method":"ping"}')" 404
curl -sN --max-time 10 "$base/api/events" -H 'Authorization: Bearer bob-has-this-token' >events &
listener=$!
for _ in $(seq 100); do [ -s events ] && break; sleep 0.02; done
as ada /api/write '{"ops":[{"op":"assert_node","uid":"new","label":"Person","vt_s":1}],"request_id":"secret-id"}' >/dev/null
for _ in $(seq 100); do grep -q '^event: commit' events && break; sleep 0.02; done
kill $listener; wait $listener 2>/dev/null
is "events say when, and not who or what" "$(grep '^data: ' events | sed 's/[0-9]\+/N/')" 'data: {"tt":N}'
as bob /metrics >counters
is "counters name nobody, no entity and no handle" "$(grep -cE 'ada|bob|root|mn:|[0-9a-f]{32}|secret-id' counters)" 0
is "the log has no token" "$(grep -c 'has-this-token' err)" 0
is "nor has an answer" "$(cat of_root of_ada counters events | grep -c 'has-this-token')" 0
kill -TERM $pid; wait $pid
is "it ends well" $? 0

# ---- without tokens there is nobody to tell apart: what was asked to be shown is
"$merkhet" serve --store s --port 0 --port-file open --show notes 2>/dev/null &
pid=$!
for _ in $(seq 250); do [ -s open ] && break; sleep 0.02; done
is "without tokens --show holds for all" "$(curl -s -X POST "http://127.0.0.1:$(cat open)/api/ops/entity_history" -H "$json" -d "$history" | times '"rows_total":1')" 1
kill -TERM $pid; wait $pid
finish
