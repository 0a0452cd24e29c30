#!/bin/bash
# docs/http.md as a reader would paste it, against a server on a free port; and nothing that is served is missing in it.
. "$(dirname "$0")/lib.sh"
if ! command -v curl >/dev/null; then
    skip "curl is not there"
    finish
fi
page=$repo/docs/http.md
ln -s "$merkhet" merkhet
PATH=$work:$PATH

# The fenced shell blocks; "#=> text" becomes a check of what was printed since the one before.
blocks() { awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0; next } inside { print }' "$page"; }
# block N: the Nth command group, up to and with its "#=>" lines
blocks | sed '/^JSON$/,$!d; 1d' >rest
blocks | sed '/^JSON$/q' >store.sh
works "the store" bash -e store.sh
"$merkhet" serve --store team --write --port 0 --port-file port 2>err &
pid=$!
for _ in $(seq 250); do [ -s port ] && break; sleep 0.02; done
sed -i "s|127.0.0.1:8765|127.0.0.1:$(cat port)|g" rest
: >said
mark=0
# In this shell, so that what a command sets is there for the next; a command ends where a check begins.
command=
checked=0
while IFS= read -r line; do
    case $line in
    '#=> '*)
        wanted=${line#'#=> '}
        eval "$command" >said 2>&1
        contains "$(printf '%s' "$command" | tail -n 2 | tr '\n' ' ' | grep -o '/[a-z][a-z_/]*[^ ]*' | head -n 1): $wanted" "$(cat said)" "$wanted"
        command=
        checked=$((checked + 1)) ;;
    *) command+=$line$'\n' ;;
    esac
done <rest
is "every line was run" "$command" ""
is "there were many" $((checked >= 18)) 1
works "the answer that was kept verifies" "$merkhet" verify answer.json
curl -s "http://127.0.0.1:$(cat port)/openapi.json" | grep -o '"/[a-zA-Z_/{}.]*":{"\(get\|post\)"' | cut -d'"' -f2 | grep -v '^/api/ops/[a-z]' >paths
is "the document lists paths" $(($(wc -l <paths) >= 18)) 1
blocks >commands
while IFS= read -r path; do
    case $path in
    *'{'*) works "a command asks $path" grep -qF "127.0.0.1:8765${path%%\{*}" commands ;;
    *) works "a command asks $path" grep -qE "127\.0\.0\.1:8765${path}([?\"' ]|\$)" commands ;;
    esac
done <paths
kill -TERM $pid; wait $pid
is "the server ends well" $? 0
finish
