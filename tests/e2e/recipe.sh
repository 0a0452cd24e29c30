#!/bin/bash
# CONTRIBUTING.md says how to add an operator. This follows it to the letter in a copy of the tree.
. "$(dirname "$0")/lib.sh"
build=$(cd "${MK_BUILD:-$repo/build}" && pwd)
mkdir tree
cp -a "$repo/src" "$repo/include" "$repo/tools" "$repo/Makefile" tree/
# What is built already need not be built again: objects keep their times. Those of the operators are made anew.
[ -d "$build/release" ] && mkdir -p tree/build && cp -a "$build/release" tree/build/ && rm -rf tree/build/release/src/op
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/CONTRIBUTING.md" >tree/src/op/entity_count.c
line=$(sed -n 's/^2\. Add `\(X([a-z_]*)\)` .*/\1/p' "$repo/CONTRIBUTING.md")
is "the recipe names its line" "$line" "X(entity_count)"
sed -i "s/^    X(entity_history) .*/    $line \\\\\n&/" tree/src/op/operators.h
works "the tree with one more file and one more line builds" make -s -C tree program
new=$work/tree/build/release/merkhet
"$merkhet" assert --store s --node a --label N --from 0 >/dev/null
is "the new operator answers" "$("$new" call entity_count '{"t_valid":16}' --store s --json)" \
    "$(printf '%s' '{"args_echo":{"as_of_tt":4611686018427387904,"t_valid":16},"completeness":{},"count":1,"dataset_extent":{"vt_max":null,"vt_min":null},"op":"entity_count","result_digest":"'"$(printf '%s' '{"count":1,"truncated":false}' | sha256sum | cut -d' ' -f1)"'","truncated":false}')"
contains "it has a manual page" "$("$new" ops entity_count)" "how many entities are valid at one instant"
contains "and is in the list" "$("$new" ops)" "entity_count"
contains "and has schemas" "$("$new" ops entity_count --json)" '"required":["t_valid"]'
refuses "it checks its arguments" 1 E_SCHEMA "$new" call entity_count '{"t_valid":"soon"}' --store s
refuses "and the old program does not know it" 1 E_INVALID_ARG "$merkhet" call entity_count '{"t_valid":16}' --store s
finish
