#!/bin/bash
# mcp over standard input and output: nothing but protocol, whatever comes in; ends cleanly; two at once; a store made
# later; a commit of another process is seen.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

rpc() { # id method [params]
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s"%s}\n' "$1" "$2" "${3:+,\"params\":$3}"
}
call() { rpc "$1" tools/call "{\"name\":\"$2\",\"arguments\":$3}"; }
init='{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'

printf '%s\n' '{"op":"assert_node","uid":"ada","label":"Person","vt_s":10,"props":{"name":"Ada <b>"}}' \
    '{"op":"assert_node","uid":"bob","label":"Person","vt_s":10}' \
    '{"op":"assert_edge","src":"ada","dst":"bob","rel_type":"KNOWS","vt_s":20,"vt_e":21}' >ops.jsonl
works "a store" bash -c "'$merkhet' init --store s && '$merkhet' assert --store s - <ops.jsonl"

# ---- answers, one a line ----
out=$({ rpc 1 initialize "$init"; rpc 2 tools/list; call 3 describe_dataset '{}'; } | "$merkhet" mcp --store s 2>err)
is "the exit status at the end of input" $? 0
is "three answers" "$(printf '%s\n' "$out" | grep -c '^{"jsonrpc":"2.0","id":')" 3
contains "the handshake" "$out" '"protocolVersion":"2025-11-25"'
contains "the card" "$out" '\"entities\":'
is "nothing is said on standard error" "$(cat err)" ""

out=$(printf '%s\r\n\n%s\n' "$(rpc 1 ping)" "$(rpc 2 ping)" | "$merkhet" mcp --store s)
is "CR before LF and blank lines are tolerated" "$(printf '%s\n' "$out" | sort)" '{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","id":2,"result":{}}'
out=$(printf '%s' "$(rpc 1 ping)" | "$merkhet" mcp --store s)
is "the last line may lack its end" "$out" '{"jsonrpc":"2.0","id":1,"result":{}}'
out=$(printf '\357\273\277%s\n' "$(rpc 1 ping)" | "$merkhet" mcp --store s)
is "a byte order mark is tolerated" "$out" '{"jsonrpc":"2.0","id":1,"result":{}}'

# ---- bad input ----
for bad in '[]' '{}' 'null' '"x"' '{"jsonrpc":"2.0"' $'\377\376' '{"jsonrpc":"1.0","id":1,"method":"ping"}'; do
    out=$(printf '%s\n%s\n' "$bad" "$(rpc 9 ping)" | "$merkhet" mcp --store s)
    contains "refused: ${bad:0:20}" "$out" '"error":{"code":-32'
    contains "and the next is answered" "$out" '"id":9,"result":{}'
done
out=$({ head -c 11000000 /dev/zero | tr '\0' x; echo; rpc 9 ping; } | "$merkhet" mcp --store s)
contains "a line of 11 MB is refused" "$out" '"error":{"code":-32600'
contains "a line after it is answered" "$out" '"id":9,"result":{}'
is "2,000 requests at once are each answered or refused" \
    "$({ for i in $(seq 2000); do call "$i" resolve_entities '{"query":"a"}'; done; } | "$merkhet" mcp --store s |
        grep -oE '^\{"jsonrpc":"2.0","id":[0-9]+' | sort -u | wc -l)" 2000

# ---- ends ----
mkfifo in
"$merkhet" mcp --store s <in >out 2>err &
pid=$!
exec 7>in
rpc 1 ping >&7
for _ in $(seq 100); do [ -s out ] && break; sleep 0.02; done
contains "answers while input stays open" "$(cat out)" '"result":{}'
kill -TERM $pid
wait $pid
is "SIGTERM ends it with status 0" $? 0
exec 7>&-
{ rpc 1 ping; sleep 0.3; rpc 2 ping; sleep 0.3; } | "$merkhet" mcp --store s 2>err | head -n 1 >first
contains "a reader that leaves does not break it" "$(cat first)" '"result":{}'

mkfifo in_stuck out_stuck
"$merkhet" mcp --store s <in_stuck >out_stuck 2>err &
pid=$!
exec 7>in_stuck 8<out_stuck
for i in $(seq 30); do rpc "$i" tools/list; done >&7 # far more than a pipe holds
sleep 0.2
began=$(date +%s%N)
kill -TERM $pid
wait $pid
is "SIGTERM ends it with status 0 while nobody reads its answers" $? 0
is "within two seconds" $((($(date +%s%N) - began) / 1000000000 < 2)) 1
exec 7>&- 8<&-

# ---- subscriptions of the modern era: none of them keeps a call waiting, and they end with a result ----
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
listen() { rpc "$1" subscriptions/listen "{\"notifications\":{\"resourceSubscriptions\":[\"merkhet://dataset/card\"]},$meta}"; }
out=$({ for i in $(seq 17); do listen $i; done; call 90 describe_dataset '{}'; sleep 0.3
    rpc 91 ping; printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}\n'; sleep 0.5
    listen 18; sleep 0.3; } | "$merkhet" mcp --store s)
is "17 subscriptions at once are 16 and a refusal, and one that was cancelled makes room" \
    "$(printf '%s\n' "$out" | grep -c 'subscriptions/acknowledged') $(printf '%s\n' "$out" | grep -c '"id":17,"error"')" "17 1"
contains "a call runs beside them" "$out" '"id":90,"result"'
is "each that was not cancelled ends with a result when the input does" \
    "$(printf '%s\n' "$out" | grep -c '"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId"')" 16
is "and none of them holds up the end" "$( { time { listen 1 | "$merkhet" mcp --store s >/dev/null; }; } 2>&1 |
    awk '/real/ { split($2, t, "[ms]"); print t[1] * 60 + t[2] < 1.4 }')" 1

# ---- two servers, a writer beside them ----
mkfifo in2
"$merkhet" mcp --store s <in2 >out2 2>err2 &
pid=$!
exec 7>in2
rpc 1 initialize "$init" >&7
rpc 2 resources/subscribe '{"uri":"merkhet://dataset/card"}' >&7
for _ in $(seq 100); do [ "$(wc -l <out2)" -ge 2 ] && break; sleep 0.02; done
contains "a second server opens the same store" "$({ call 1 describe_dataset '{}'; } | "$merkhet" mcp --store s)" '\"entities\":'
works "a commit beside them" bash -c "printf '%s\n' '{\"op\":\"assert_node\",\"uid\":\"eve\",\"label\":\"Person\",\"vt_s\":30}' | '$merkhet' assert --store s -"
for _ in $(seq 150); do grep -q updated out2 && break; sleep 0.02; done
contains "who subscribed is told" "$(cat out2)" '"method":"notifications/resources/updated","params":{"uri":"merkhet://dataset/card"}'
call 3 entity_history '{"uid":"eve"}' >&7
for _ in $(seq 100); do grep -q '"id":3' out2 && break; sleep 0.02; done
contains "and sees it" "$(grep '"id":3' out2)" '"rows_total":1'
exec 7>&-
wait $pid
is "the end of input ends it" $? 0

# ---- no store yet ----
out=$(call 1 describe_dataset '{}' | "$merkhet" mcp --store later)
contains "a store that is not there is named with the command that makes it" "$out" 'merkhet init --store later'
out=$({ rpc 1 initialize "$init"; sleep 0.2; { "$merkhet" init --store later
    printf '%s\n' '{"op":"assert_node","uid":"ada","label":"P","vt_s":1}' | "$merkhet" assert --store later -; } >/dev/null
    for _ in $(seq 20); do rpc 2 resources/read '{"uri":"merkhet://dataset/card"}'; sleep 0.1; done; } | "$merkhet" mcp --store later)
contains "resources that change are declared, other lists are not" "$out" \
    '"capabilities":{"tools":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{}'
is "a store that is made later is told of once" "$(printf '%s\n' "$out" | grep -c 'resources/list_changed')" 1

# ---- check, and bad options ----
contains "the self-test" "$("$merkhet" mcp --store s --check)" 'describe_dataset  ok'
refuses "an unknown tool" 1 "neither a tool nor a group" bash -c "'$merkhet' mcp --store s --tools nothing </dev/null"
finish
