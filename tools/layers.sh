#!/bin/sh
# Checks that #include lines point towards base and never into a neighbour's *_internal.h.
#
#   tools/layers.sh [ROOT]       checks ROOT/src and ROOT/include (default: this repository)
#   tools/layers.sh --order      prints the folders, lowest first
#
# Prints each offending line with the rule it breaks; exit status 1 when there is one. Tests and
# benchmarks may include anything and are not read.
set -eu

# Lowest first; a folder may include itself and what stands to its left. `load` reads foreign files
# into write batches, so it is held to base and store; `claim` and `verify` are the trust base of answers
# and know base and each other. Files directly in src/ carry out the public header and stand just below
# the command line.
order="base store backend load model op plan claim verify resolve know agent serve eval src cli"

if [ "${1:-}" = --order ]; then echo "$order"; exit 0; fi
root=${1:-$(dirname "$0")/..}
cd "$root"

{ find src include -type f \( -name '*.c' -o -name '*.h' \) 2>/dev/null || true; } | LC_ALL=C sort |
while read -r file; do
    grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$file" /dev/null || true
    # A folder that the order does not know is a breach even when it includes nothing.
    echo "$file:0:#include \"\""
done | awk -v order="$order" '
BEGIN { n = split(order, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i }

function folder_of(path,   part, count) {
    count = split(path, part, "/")
    if (part[1] == "include") return "include"
    return count == 2 ? "src" : part[2]
}
function breach(why) { print where ": " text "\n  " why; bad = 1 }

{
    at = index($0, ":"); file = substr($0, 1, at - 1); rest = substr($0, at + 1)
    at = index(rest, ":"); line = substr(rest, 1, at - 1); text = substr(rest, at + 1)
    where = file ":" line
    from = folder_of(file)

    if (line == 0) {
        if (from != "include" && !(from in rank) && !(from in told)) {
            told[from] = 1
            print "src/" from ": this folder has no place in the order; give it one in tools/layers.sh"
            bad = 1
        }
        next
    }
    header = text; sub(/^[^"]*"/, "", header); sub(/".*$/, "", header)
    if (from == "include") { breach("the public header stands alone: it may include system headers only"); next }
    if (!(from in rank)) next
    if (header ~ /(^|\/)\.\.\//) { breach("write the path from src/, so that the folder can be read off it"); next }
    if (header == "merkhet.h" || header !~ /\//) next
    to = header; sub(/\/.*$/, "", to)
    if (to == from) next
    if (header ~ /[_\/]internal\.h$/) { breach("src/" from " may not know the inside of src/" to); next }
    if (!(to in rank)) { breach("there is no folder src/" to); next }
    if (from == "load" && to != "base" && to != "store") { breach("src/load may know src/base and src/store only, not src/" to); next }
    if (from == "claim" && to != "base") { breach("src/claim may know src/base only, not src/" to); next }
    if (from == "verify" && to != "base" && to != "claim") { breach("src/verify may know src/base and src/claim only, not src/" to); next }
    if (rank[to] > rank[from]) breach("src/" from " may not know src/" to ", which stands above it")
}
END { exit bad }
'
