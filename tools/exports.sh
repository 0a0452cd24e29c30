#!/bin/sh
# The symbols that the public header declares.
#
#   tools/exports.sh list HEADER         one name a line, sorted
#   tools/exports.sh map HEADER          a version script for the linker
#   tools/exports.sh check HEADER LIB... compares each library (.so or .a) with the header
#
# A public declaration starts a line with MK_API and names one function or object, over as many lines
# as it needs. A header that is not there declares nothing.
set -eu

names() {
    [ -f "$1" ] || return 0
    # Comments and preprocessor lines go first: both may hold the word MK_API.
    awk '{ line = $0; sub(/\\$/, "", line); if (!skip && $0 !~ /^[ \t]*#/) print line
           skip = ((skip || $0 ~ /^[ \t]*#/) && $0 ~ /\\$/) }' "$1" |
        tr '\n' ' ' | sed -e 's:/\*:\n/*:g' -e 's:\*/:*/\n:g' | sed -e '/^\/\*.*\*\/$/d' | tr '\n' ' ' |
        sed -e 's/;/;\n/g' | sed -n 's/.*\bMK_API\b\(.*\);.*/\1/p' |
        sed -E -e 's/__attribute__ *\(\(([^()]|\([^()]*\))*\)\)//g' -e 's/\bMK_[A-Z_]+(\([^()]*\))?//g' \
            -e 's/ *\(.*//' -e 's/ *\[.*//' -e 's/ *$//' -e 's/.*[^A-Za-z0-9_]//' |
        LC_ALL=C sort -u
}

verb=$1; header=${2:-include/merkhet.h}
case $verb in
list) names "$header" ;;
map)
    echo 'MERKHET_0 {'
    declared=$(names "$header")
    if [ -n "$declared" ]; then echo '  global:'; echo "$declared" | sed 's/.*/    &;/'; fi
    echo '  local: *;'
    echo '};' ;;
check)
    shift 2
    want=$(mktemp); have=$(mktemp)
    trap 'rm -f "$want" "$have"' EXIT
    names "$header" > "$want"
    bad=0
    if grep -v '^mk_' "$want"; then echo "  $header: public names start with mk_"; bad=1; fi
    for lib; do
        case $lib in
        *.a) nm -g --defined-only "$lib" 2>/dev/null | awk 'NF == 3 { print $3 }' ;;
        *) nm -D --defined-only "$lib" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' ;;
        esac | LC_ALL=C sort -u > "$have"
        for name in $(LC_ALL=C comm -13 "$want" "$have"); do
            echo "$lib: exports $name, which $header does not declare with MK_API"; bad=1
        done
        for name in $(LC_ALL=C comm -23 "$want" "$have"); do
            echo "$lib: lacks $name, which $header declares (not defined, or defined without MK_API in sight)"; bad=1
        done
    done
    exit $bad ;;
*) echo "usage: tools/exports.sh list|map|check HEADER [LIB...]" >&2; exit 2 ;;
esac
