#!/bin/bash
# `merkhet serve` over HTTP: what it answers, whom it lets in, and what it makes of requests that are not meant well.
. "$(dirname "$0")/lib.sh"
if ! command -v curl >/dev/null; then
    skip "curl is not there"
    finish
fi
json='Content-Type: application/json'

# start NAME OPTIONS...: a server on store s; sets pid, port, base
start() {
    local name=$1; shift
    rm -f "$name.port"
    "$merkhet" serve --store s --port 0 --port-file "$name.port" "$@" 2>"$name.err" &
    pid=$!
    for _ in $(seq 250); do [ -s "$name.port" ] && break; sleep 0.02; done
    port=$(cat "$name.port")
    base=http://127.0.0.1:$port
}
stop() { kill -TERM $pid; wait $pid; }
# code CURL-ARGUMENTS...: the status; the body is in `body`, the head in `head`
code() { curl -s -o body -D head -w '%{http_code}' --max-time 20 "$@"; }
post() { local path=$1 text=$2; shift 2; code -X POST "$base$path" -H "$json" -d "$text" "$@"; }
# raw: what the server says to the bytes on standard input
raw() {
    exec 9<>"/dev/tcp/127.0.0.1/$port" || return
    cat >&9
    timeout "${1:-3}" cat <&9
    exec 9<&- 9>&-
}
status_of() { raw "$@" | head -n 1 | tr -d '\r' | cut -d' ' -f2; }

printf '%s\n' '{"op":"assert_node","uid":"ada","label":"Person","props":{"name":"<script>alert(1)</script>"},"vt_s":1000000}' \
    '{"op":"assert_node","uid":"bob","label":"Person","vt_s":1000000}' \
    '{"op":"assert_edge","src":"ada","rel_type":"KNOWS","dst":"bob","vt_s":2000000,"vt_e":2000001}' >ops.jsonl
works "a store" bash -c "'$merkhet' init --store s && '$merkhet' assert --store s - <ops.jsonl"

# ---- the ordinary day
start one --log
is "health" "$(code "$base/healthz") $(cat body)" "200 ok"
is "ready" "$(code "$base/readyz")" 200
is "an operator" "$(post /api/op '{"op":"entity_history","args":{"uid":"ada"}}')" 200
digest=$(grep -o '"result_digest":"[0-9a-f]*"' body | cut -d'"' -f4)
cp body canonical
is "is what the command line says" "$(cat canonical)" "$("$merkhet" call entity_history '{"uid":"ada"}' --store s --json)"
is "the same by its name" "$(post /api/ops/entity_history '{"uid":"ada"}') $(cmp body canonical && echo same)" "200 same"
is "in wire form open ends are null" "$(post '/api/op?form=wire' '{"op":"entity_history","args":{"uid":"ada"}}') $(grep -c '"vt_e":null' body)" "200 1"
is "a result is kept by its digest" "$(code "$base/api/results/$digest") $(sha256sum <body | cut -d' ' -f1)" "200 $digest"
is "with an ETag" "$(grep -ci "^etag: \"$digest\"" head)" 1
is "which saves sending it again" "$(code "$base/api/results/$digest" -H "If-None-Match: \"$digest\"")" 304
is "an unknown result" "$(code "$base/api/results/00")" 404
is "an operator's error on /api/op is no error of HTTP" "$(post /api/op '{"op":"entity_history","args":{}}') $(grep -o '"error":"E_SCHEMA"' body)" '200 "error":"E_SCHEMA"'
is "and is one by its name" "$(post /api/ops/entity_history '{}') $(grep -ci '^content-type: application/problem+json' head)" "422 1"
is "a problem has both shapes" "$(grep -o '"status":422' body) $(grep -o '"error":"E_SCHEMA"' body)" '"status":422 "error":"E_SCHEMA"'
is "an unknown operator" "$(post /api/ops/entity_histry '{}') $(grep -o 'did you mean entity_history' body)" "404 did you mean entity_history"
is "an unknown entity" "$(post /api/ops/entity_history '{"uid":"nobody"}')" 404
is "too low a ceiling is refused with offers" "$(post /api/op '{"op":"aggregate_events","args":{"group_by":[],"aggregates":[{"agg":"count"}],"window":{"t_a":0,"t_b":9000000}},"ceilings":{"rows_scanned_est":1}}') $(grep -o '"error":"E_COST"' body)" '200 "error":"E_COST"'
is "a question" "$(post /api/ask '{"question":"How many versions does ada have?"}') $(grep -o '"value":1' body | head -n 1)" '200 "value":1'
trace=$(grep -o '"trace":"[0-9a-f]*"' body | cut -d'"' -f4)
is "its trace is a bundle" "$(code "$base/api/traces/$trace?download") $(grep -ci '^content-disposition: attachment' head)" "200 1"
works "that verifies without a store" "$merkhet" verify body
(printf '{"bundle":'; cat body; printf '}') >whole
is "here too" "$(code -X POST "$base/api/verify" -H "$json" --data-binary @whole) $(grep -o '"faults":\[\]' body)" '200 "faults":[]'
sed 's/The answer is 1\./The answer is 2./' whole >changed
is "and a changed one does not" "$(code -X POST "$base/api/verify" -H "$json" --data-binary @changed) $(grep -c '"faults":\[\]' body)" "200 0"
contains "questions stream their progress" "$(curl -sN -X POST "$base/api/ask" -H "$json" -H 'Accept: text/event-stream' -d '{"question":"How many versions does ada have?"}')" "event: result"
is "HEAD has no body" "$(curl -sI "$base/healthz" | head -n 1 | tr -d '\r')" "HTTP/1.1 200 OK"
is "a request's own id comes back" "$(code "$base/healthz" -H 'X-Request-Id: my-id.7') $(grep -ci '^x-request-id: my-id.7' head)" "200 1"
is "one that is not harmless does not" "$(code "$base/healthz" -H 'X-Request-Id: a b') $(grep -ci '^x-request-id: a b' head)" "200 0"
is "counters" "$(code "$base/metrics") $(grep -c '^merkhet_op_duration_seconds_count{op="entity_history",outcome="ok"}' body)" "200 1"
is "no counter is named by a client" "$(grep -c 'nobody\|my-id' body)" 0
is "the page" "$(code "$base/") $(grep -ci "^content-security-policy: default-src 'none'" head)" "200 1"
is "its files are told apart by their contents" "$(code "$base/app.js" -H "If-None-Match: $(curl -sI "$base/app.js" | tr -d '\r' | sed -n 's/^ETag: //p')")" 304
is "a log line has the id" "$(grep -c '^my-id.7 GET /healthz 200' one.err)" 1
if command -v python3 >/dev/null; then
    code "$base/openapi.json" >/dev/null
    cat >document.py <<'P'
import json, sys, urllib.request
base = sys.argv[1]
d = json.load(open("body"))
assert d["openapi"].startswith("3.1"), d["openapi"]
tried = 0
for path, methods in d["paths"].items():
    for method, o in methods.items():
        assert method in ("get", "post") and o["summary"] and o["responses"]["200"], path
        if "{" in path or path == "/api/events":
            continue
        body = o.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example", {})
        r = urllib.request.Request(base + path, method=method.upper(), data=json.dumps(body).encode() if method == "post" else None, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(r, timeout=20) as a: status, kind = a.status, a.headers["Content-Type"].split(";")[0]
        except urllib.error.HTTPError as e: status, kind = e.code, e.headers["Content-Type"].split(";")[0]
        documented = o["responses"].get(str(status))
        assert documented, (path, status)
        assert kind in documented["content"], (path, status, kind)
        tried += 1
def refs(x):
    if isinstance(x, dict):
        if "$ref" in x and x["$ref"].startswith("#/components"):
            at = d
            for k in x["$ref"][2:].split("/"): at = at[k]
        for v in x.values(): refs(v)
    elif isinstance(x, list):
        for v in x: refs(v)
refs(d["components"]); refs({p: {m: o["responses"] for m, o in ms.items()} for p, ms in d["paths"].items()})
print(tried > 25)
P
    is "every documented path answers as documented" "$(python3 document.py "$base" 2>&1)" True
fi

# ---- commits of others, and beliefs that do not move
pinned=$(grep -o '"as_of_tt":[0-9]*' canonical | head -n 1)
last=$(curl -s "$base/api/info" | grep -o '"as_of_tt":[0-9]*' | cut -d: -f2)
post /api/op "{\"op\":\"entity_history\",\"args\":{\"uid\":\"ada\",\"as_of_tt\":$last}}" >/dev/null; cp body before
curl -sN --max-time 5 "$base/api/events" >events &
listener=$!
sleep 0.3
"$merkhet" correct --store s --node ada --props '{"name":"Ada"}' --from 1970-01-01T00:00:05Z >/dev/null
for _ in $(seq 50); do grep -q '^event: commit' events && break; sleep 0.02; done
is "a commit of another process shows" "$(grep -c '^event: commit' events)" 1
is "the new belief is read" "$(post /api/ops/entity_history '{"uid":"ada"}') $(grep -o '"rows_total":2' body)" '200 "rows_total":2'
is "a pinned one stays, to the byte" "$(post /api/op "{\"op\":\"entity_history\",\"args\":{\"uid\":\"ada\",\"as_of_tt\":$last}}") $(cmp body before && echo same)" "200 same"
kill $listener 2>/dev/null; wait $listener 2>/dev/null
contains "who comes back is told what was missed" "$(curl -sN --max-time 1 "$base/api/events" -H "Last-Event-ID: $last")" "event: commit"

# ---- requests that are not meant well
is "no JSON" "$(post /api/op '{')" 400
is "no object" "$(post /api/op '[1]') $(grep -o E_SCHEMA body)" "200 E_SCHEMA"
is "deep JSON" "$(post /api/op "$(printf '[%.0s' $(seq 5000))")" 400
is "another type of body" "$(code -X POST "$base/api/op" -H 'Content-Type: text/plain' -d '{}')" 415
is "another method" "$(code -X DELETE "$base/api/op") $(grep -i '^allow:' head | tr -d '\r')" "405 Allow: POST, OPTIONS"
is "a method nobody knows" "$(code -X BREW "$base/api/op")" 405
is "no such path" "$(code "$base/api/nothing")" 404
for path in /../../etc/passwd /%2e%2e/%2e%2e/etc/passwd //etc/passwd /app.js/../../README.md /.git/config '/api/traces/..%2f..%2fetc' "/$(printf 'a%.0s' $(seq 2000))"; do
    is "no way out by ${path:0:40}" "$(code --path-as-is "$base$path")" 404
done
is "a foreign host" "$(code "$base/healthz" -H 'Host: evil.example')" 403
is "a foreign origin" "$(post /api/op '{"op":"entity_history","args":{"uid":"ada"}}' -H 'Origin: https://evil.example')" 403
is "the origin null" "$(post /api/op '{}' -H 'Origin: null')" 403
is "our own origin" "$(post /api/op '{"op":"entity_history","args":{"uid":"ada"}}' -H "Origin: $base") $(grep -ci '^access-control-allow-origin:' head)" "200 1"
is "a preflight" "$(code -X OPTIONS "$base/api/op" -H "Origin: $base" -H 'Access-Control-Request-Method: POST') $(grep -ci '^access-control-allow-headers:.*mcp-session-id' head)" "204 1"
is "a body too large by its length" "$(head -c 5000000 /dev/zero | code -X POST "$base/api/op" -H "$json" -H 'Expect:' --data-binary @-)" 413
is "and one that does not say so" "$(head -c 5000000 /dev/zero | code -X POST "$base/api/op" -H "$json" -H 'Expect:' -H 'Transfer-Encoding: chunked' --data-binary @- | tail -c 3)" 413
is "two hosts" "$(printf 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' | status_of)" 400
is "no host" "$(printf 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n' | status_of)" 400
is "a length beside chunks" "$(printf 'POST /api/op HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n' | status_of)" 400
is "a whole address as target" "$(printf 'GET http://127.0.0.1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' | status_of)" 400
is "a head of 100 KB" "$( (printf 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n'; for i in $(seq 1000); do printf 'X-%d: %0100d\r\n' "$i" "$i"; done; printf '\r\n') | status_of | grep -c '431\|413')" 1
is "no HTTP at all" "$(printf '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' | raw 1 | grep -c ' 200 ')" 0
is "half a request, and gone" "$(printf 'POST /api/op HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"op"' | raw 0.2)" ""
is "a header that would begin another" "$(code "$base/api/traces/$trace?download" -H $'X-Request-Id: a\tb') $(grep -c '^Set-Cookie' head)" "200 0"
is "markup in a stored name is JSON" "$(post /api/op "{\"op\":\"entity_history\",\"args\":{\"uid\":\"ada\",\"as_of_tt\":$last}}") $(grep -ci '^content-type: application/json' head) $(grep -ci '^x-content-type-options: nosniff' head)" "200 1 1"
is "it still answers" "$(code "$base/healthz")" 200

# ---- a client that vanishes, and the end with calls on their way
for _ in 1 2 3 4 5; do curl -s --max-time 0.02 "$base/api/info" >/dev/null; done
curl -sN "$base/api/events" >/dev/null &
slow=$!
sleep 0.2
begun=$(date +%s)
stop
is "SIGTERM ends it well" "$?" 0
is "within 4 seconds" "$(( $(date +%s) - begun < 4 ))" 1
wait $slow 2>/dev/null
is "nothing to complain about" "$(grep -v '^serving \|^ending: \|^[A-Za-z0-9._-]* [A-Z?]* ' one.err)" ""

# ---- tokens
printf '# who may what\nreader-token-0001 read user:ada\nwriter-token-0001 merkhet:write user:bob\n' >tokens
chmod 644 tokens
refuses "a token file that others may read" 1 E_STATE "$merkhet" serve --store s --port 0 --token-file tokens
chmod 600 tokens
refuses "an open address without tokens" 1 E_INVALID_ARG "$merkhet" serve --store s --port 0 --bind 0.0.0.0
start two --token-file tokens --write
is "without a token" "$(post /api/op '{"op":"entity_history","args":{"uid":"ada"}}') $(grep -i '^www-authenticate' head | tr -d '\r')" '401 WWW-Authenticate: Bearer realm="merkhet"'
is "with a wrong one" "$(post /api/op '{}' -H 'Authorization: Bearer reader-token-0002')" 401
is "one in the address does not count" "$(post '/api/op?access_token=reader-token-0001' '{}')" 401
is "health needs none" "$(code "$base/healthz")" 200
is "counters do" "$(code "$base/metrics")" 401
ada='Authorization: Bearer reader-token-0001' bob='Authorization: Bearer writer-token-0001'
is "with the right one" "$(post /api/op '{"op":"entity_history","args":{"uid":"ada"}}' -H "$ada")" 200
digest=$(grep -o '"result_digest":"[0-9a-f]*"' body | cut -d'"' -f4)
is "a result is of who made it" "$(code "$base/api/results/$digest" -H "$ada") $(code "$base/api/results/$digest" -H "$bob")" "200 404"
post /api/ask '{"question":"How many versions does ada have?"}' -H "$ada" >/dev/null
trace=$(grep -o '"trace":"[0-9a-f]*"' body | cut -d'"' -f4)
is "so is a trace" "$(code "$base/api/traces/$trace" -H "$ada") $(code "$base/api/traces/$trace" -H "$bob") $(code "$base/api/traces" -H "$bob") $(cat body)" '200 404 200 {"traces":[]}'
is "and a session" "$(code -X POST "$base/mcp" -H "$json" -H "$ada" -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}')" 200
session=$(tr -d '\r' <head | sed -n 's/^Mcp-Session-Id: //p')
is "which another cannot use" "$(code -X POST "$base/mcp" -H "$json" -H "$bob" -H "Mcp-Session-Id: $session" -d '{"jsonrpc":"2.0","id":2,"method":"ping"}')" 404
is "or end" "$(code -X DELETE "$base/mcp" -H "$bob" -H "Mcp-Session-Id: $session") $(code -X POST "$base/mcp" -H "$json" -H "$ada" -H "Mcp-Session-Id: $session" -d '{"jsonrpc":"2.0","id":2,"method":"ping"}')" "404 200"
is "its owner can" "$(code -X DELETE "$base/mcp" -H "$ada" -H "Mcp-Session-Id: $session") $(code -X POST "$base/mcp" -H "$json" -H "$ada" -H "Mcp-Session-Id: $session" -d '{"jsonrpc":"2.0","id":3,"method":"ping"}')" "200 404"

# ---- writing
new='{"ops":[{"op":"assert_node","uid":"eve","label":"Person","vt_s":3000000}]}'
is "a reader may not write" "$(post /api/write "$new" -H "$ada") $(grep -c 'insufficient_scope' head)" "403 1"
is "a writer may" "$(post /api/write "$new" -H "$bob" -H 'Idempotency-Key: once')" 200
cp body first
is "twice is once" "$(post /api/write "$new" -H "$bob" -H 'Idempotency-Key: once') $(cmp body first && echo same)" "200 same"
is "and it is read at once" "$(post /api/op '{"op":"entity_history","args":{"uid":"eve"}}' -H "$ada") $(grep -o '"source":"user:bob"' body)" '200 "source":"user:bob"'
is "all or nothing" "$(post /api/write '{"ops":[{"op":"assert_node","uid":"x1","label":"P","vt_s":1},{"op":"assert_node","uid":"","label":"P","vt_s":1}]}' -H "$bob") $(post /api/ops/entity_history '{"uid":"x1"}' -H "$ada")" "422 404"
is "reserved names are refused with their place" "$(post /api/write '{"ops":[{"op":"assert_node","uid":"mn:x","label":"P","vt_s":1}]}' -H "$bob") $(grep -o 'ops\[0\].uid' body)" "422 ops[0].uid"
is "no operations" "$(post /api/write '{"ops":[]}' -H "$bob")" 422
refuses "meanwhile nobody else writes" 1 E_STATE "$merkhet" assert --store s --node y --label P --from 1970-01-02
start three --write
is "a second server reads" "$(post /api/op '{"op":"entity_history","args":{"uid":"eve"}}')" 200
is "and says who writes" "$(post /api/write "$new") $(grep -o '"holder_pid":[0-9]*' body)" "409 \"holder_pid\":$(pgrep -f 'two.port' | head -n 1)"
stop
kill -TERM "$(pgrep -f 'two.port' | head -n 1)"
sleep 0.5
start four
is "without --write there is none" "$(post /api/write "$new") $(grep -o 'start it with --write' body)" "409 start it with --write"
refuses "a port that is taken" 1 E_STATE "$merkhet" serve --store s --port "$port"
stop

# ---- a store that comes later
rm -f late.port
"$merkhet" serve --store later --port 0 --port-file late.port 2>late.err &
pid=$!
for _ in $(seq 250); do [ -s late.port ] && break; sleep 0.02; done
port=$(cat late.port) base=http://127.0.0.1:$port
is "alive without a store" "$(code "$base/healthz") $(code "$base/readyz")" "200 503"
contains "with the command that makes one" "$(cat body)" "merkhet init --store later"
"$merkhet" init --store later >/dev/null
is "and ready once it is there" "$(code "$base/readyz")" 200
stop
finish
