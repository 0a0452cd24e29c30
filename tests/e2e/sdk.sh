#!/bin/bash
# The official SDK clients of the Model Context Protocol, both lines and both eras, against the program.
. "$(dirname "$0")/lib.sh"
. "$repo/tests/e2e/node/lib.sh"

# The manual's store (docs/operators.md), with two people of one name and a number that no double holds.
mkdir bin
ln -s "$merkhet" bin/merkhet
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/docs/operators.md" >fixture
works "the manual's store" env PATH="$work/bin:$PATH" bash -e fixture
printf '{"op":"assert_node","uid":"%s","label":"P","props":{"name":"Lee","big":9007199254740993},"vt_s":0}\n' p17 p52 >lee.jsonl
printf '{"op":"assert_edge","src":"%s","dst":"%s","rel_type":"R","vt_s":11,"vt_e":12}\n' p17 b p52 c >>lee.jsonl
works "two people of one name" bash -c "'$merkhet' assert --store example - <lee.jsonl"

# start NAME COMMAND...: a server, which writes its port to NAME.port; sets pid and url
start() {
    local name=$1; shift
    "$@" 2>"$name.err" &
    pid=$!
    for _ in $(seq 250); do [ -s "$name.port" ] && break; sleep 0.02; done
    url=http://127.0.0.1:$(cat "$name.port")/mcp
}
stop() { # NAME
    kill -TERM $pid
    wait $pid
    is "$1 ends well, and has nothing to complain about" "$? $(grep -v '^serving \|^ending: ' "$1.err")" "0 "
}

node_checks product.mjs "$merkhet" "$work/example"
start program "$merkhet" serve --store example --port 0 --port-file program.port
node_checks product.mjs "$merkhet" "$work/example" "$url"
stop program

printf 'tell-nobody-0123456789abcdef merkhet:read user:eve\n' >tokens
chmod 600 tokens
start guarded "$merkhet" serve --store example --port 0 --port-file guarded.port --token-file tokens
node_checks token.mjs "$url" tell-nobody-0123456789abcdef
stop guarded

# What the product has no use for yet, and the protocol has: the fixture program. ThreadSanitizer watches it over HTTP,
# where several clients meet, and AddressSanitizer over the pipe.
build=${MK_BUILD:-$repo/build}
fixture=$build/asan/tests/e2e/mcp_fixture
threads=$build/tsan/tests/e2e/mcp_fixture
if [ ! -x "$fixture" ] || [ ! -x "$threads" ]; then
    skip "the fixture program is not built: $fixture and $threads"
    finish
fi
fixed= # the sanitizer's shadow stands at fixed addresses
setarch "$(uname -m)" -R true 2>/dev/null && fixed="setarch $(uname -m) -R"
node_checks fixture.mjs "$fixture" stdio
# shellcheck disable=SC2086
start fixture $fixed "$threads" http fixture.port
node_checks fixture.mjs "$url"
stop fixture
finish
