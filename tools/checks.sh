#!/bin/sh
# Checks on the tree and on what the build left behind, as TAP.
#
#   tools/checks.sh layers      #include lines point towards base
#   tools/checks.sh symbols     the libraries export what the public header declares, and nothing else
#   tools/checks.sh packages    docs/dependencies.md has a row for every package that is installed
#
# MK_BUILD names the build folder (default: build).
set -u
cd "$(dirname "$0")/.." || exit 1
build=${MK_BUILD:-build}

verdict() { # name, status of the check, its output
    if [ "$2" -eq 0 ]; then echo "ok 1 - $1"; else echo "not ok 1 - $1"; echo "$3" | sed 's/^/# /'; fi
    exit "$2"
}

echo 1..1
case ${1:-} in
layers)
    said=$(tools/layers.sh 2>&1); verdict "every #include points towards base" $? "$said" ;;
symbols)
    said=$(tools/exports.sh check include/merkhet.h "$build/libmerkhet.so" "$build/libmerkhet.a" 2>&1)
    verdict "the libraries export what include/merkhet.h declares" $? "$said" ;;
packages)
    said=$(tools/deps.sh --list | while IFS='	' read -r name group reason; do
        grep -q "^| \`$name\`" docs/dependencies.md || echo "docs/dependencies.md has no row for $name"
    done)
    [ -z "$said" ]; verdict "docs/dependencies.md knows every package" $? "$said" ;;
*) echo "usage: tools/checks.sh layers|symbols|packages" >&2; exit 2 ;;
esac
