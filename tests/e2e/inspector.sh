#!/bin/bash
# The Inspector's command line against the program: lists without a finding on schemas, calls, resources and prompts, in
# both eras.
. "$(dirname "$0")/lib.sh"
. "$repo/tests/e2e/node/lib.sh"

mkdir bin
ln -s "$merkhet" bin/merkhet
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/docs/operators.md" >fixture
works "the manual's store" env PATH="$work/bin:$PATH" bash -e fixture

# Its own settings go to a folder of ours, and it keeps none.
inspector=$node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
inspect() { # ERA ARGUMENTS...
    local era=$1; shift
    HOME=$work "$node" "$inspector" --cli "${target[@]}" --protocol-era "$era" "$@" 2>"$work/.inspector_err"
}
# seen NAME PART ERA ARGUMENTS...: exit status 0, PART in the output, and nothing to complain about
seen() {
    local name=$1 part=$2 said rc; shift 2
    said=$(inspect "$@")
    rc=$?
    if [ $rc -ne 0 ] || [ -s "$work/.inspector_err" ]; then
        not_ok "$name" "status $rc: $(cat "$work/.inspector_err")
$said"
    else
        contains "$name" "$said" "$part"
    fi
}

check_all() { # what the transport is called
    local via=$1 era
    for era in legacy modern; do
        seen "$via, $era: the tools have no finding" '"name": "aggregate_events"' $era --method tools/list --strict
        seen "$via, $era: a call" '"rows_total": 1' $era --method tools/call --tool-name entity_history --tool-args-json '{"uid":"a"}'
        seen "$via, $era: resources" 'merkhet://dataset/card' $era --method resources/list
        seen "$via, $era: a resource" 'vt_min' $era --method resources/read --uri merkhet://dataset/card
        seen "$via, $era: prompts" '"entity_timeline"' $era --method prompts/list
        seen "$via, $era: a prompt" 'Tell the history of Ann' $era --method prompts/get --prompt-name entity_timeline --prompt-args entity=Ann
    done
}
target=("$merkhet" mcp --store "$work/example")
check_all stdio

"$merkhet" serve --store example --port 0 --port-file port 2>serve_err &
pid=$!
for _ in $(seq 250); do [ -s port ] && break; sleep 0.02; done
target=(--transport http --server-url "http://127.0.0.1:$(cat port)/mcp")
check_all HTTP
kill -TERM $pid
wait $pid
is "the server ends well" $? 0
finish
