#!/bin/bash
# The example in the help of every command runs as it stands, and so do the blocks of the guide.
. "$(dirname "$0")/lib.sh"
mkdir bin
ln -s "$merkhet" bin/merkhet
export PATH="$work/bin:$PATH"

"$merkhet" help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]* \{0,1\}[a-z]*\)  .*/\1/p' | sed 's/ *$//' >names
while read -r name; do
    case $name in version | help) continue ;; esac
    # shellcheck disable=SC2086
    "$merkhet" $name --help | sed -n '/^Example:/,$p' | sed -n 's/^  //p' >example
    mkdir here
    if said=$(cd here && bash -e ../example 2>&1) && [ -s example ]; then ok "the example of $name runs"
    else not_ok "the example of $name runs" "$(cat example) -> $said"; fi
    rm -rf here
done <names
is "all commands were found" "$(grep -vc '^version$\|^help$' names)" "$(grep -oh '\.summary =' "$repo"/src/cli/*.c | wc -l)"

awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/docs/guide.md" >guide
mkdir here
if said=$(cd here && bash -eu -o pipefail ../guide 2>&1) && [ -s guide ]; then ok "the guide runs"
else not_ok "the guide runs" "$said"; fi

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/docs/guide.md" >guide.c
build=${MK_BUILD:-$repo/build}
if [ -e "$build/libmerkhet.so" ]; then
    works "its C program compiles" gcc -std=c17 -Wall -Wextra -Werror -I"$repo/include" -o guide-c guide.c \
        "$build/libmerkhet.so" "-Wl,-rpath,$build"
    contains "and answers" "$(cd here && ../guide-c)" '"op":"entity_history"'
else
    skip "the library is not built: $build"
fi
finish
