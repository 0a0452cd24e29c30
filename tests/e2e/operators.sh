#!/bin/bash
# The operators' manual: every page is what docs/operators.md has, and every example runs on the store that
# the manual says it runs on (the operators spec's fixture F).
. "$(dirname "$0")/lib.sh"
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/docs/operators.md" >fixture
mkdir bin
ln -s "$merkhet" bin/merkhet
export PATH="$work/bin:$PATH"
works "the manual's store can be made" bash -e fixture
export MERKHET_STORE=$work/example
"$merkhet" ops --all >manual
awk '/^```text$/ { inside = 1; next } /^```$/ && inside { inside = 0; print "" } inside' "$repo/docs/operators.md" >in_docs
same_file "docs/operators.md is what the registry says (make docs writes it)" in_docs manual
"$merkhet" ops --json | tr '{' '\n' | sed -n 's/.*"op":"\([a-z_]*\)".*/\1/p' >names
while read -r name; do
    "$merkhet" ops "$name" | sed -n '/^Example$/,$p' | sed -n 's/^  //p' >page
    if said=$(bash -e page 2>&1) && [ -s page ]; then ok "the example of $name runs"
    else not_ok "the example of $name runs" "$(cat page) -> $said"; fi
done <names
is "all operators were looked at" "$(wc -l <names)" "$(grep -c '^    X(' "$repo/src/op/operators.h")"
finish
