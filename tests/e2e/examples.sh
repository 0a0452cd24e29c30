#!/bin/bash
# The example in the help of every command runs as it stands.
. "$(dirname "$0")/lib.sh"
mkdir bin
ln -s "$merkhet" bin/merkhet
export PATH="$work/bin:$PATH"

"$merkhet" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]* \{0,1\}[a-z]*\)  .*/\1/p' | sed 's/ *$//' >names
while read -r name; do
    case $name in version | help) continue ;; esac
    # shellcheck disable=SC2086
    "$merkhet" $name --help | sed -n '/^Example:/,$p' | sed -n 's/^  //p' >example
    mkdir here
    if said=$(cd here && bash -e ../example 2>&1) && [ -s example ]; then ok "the example of $name runs"
    else not_ok "the example of $name runs" "$(cat example) -> $said"; fi
    rm -rf here
done <names
is "all commands were found" "$(grep -vc '^version$\|^help$' names)" 16
finish
