#!/bin/bash
# What a reviewer should not have to say: `make lint`. Prints each finding with its place; exit status 1
# when there is one. clang-tidy runs when it is installed (tools/deps.sh lint installs it) and takes minutes;
# TIDY=no leaves it out.
#
# From the Makefile: CSTD and INC, the flags clang-tidy needs to parse a file.
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C
findings=$(mktemp)
trap 'rm -f "$findings"' EXIT
# Called at the end of pipes, so in shells of their own: the file carries the verdict out of them.
found() { # what is wrong; places on stdin
    local places
    places=$(cat)
    [ -z "$places" ] && return 0
    echo "$1" >>"$findings"
    echo "$1:"
    printf '%s\n' "$places" | sed 's/^/  /'
}

mapfile -t code < <(find src include tests bench -type f \( -name '*.c' -o -name '*.h' \) 2>/dev/null | sort)
mapfile -t text < <({ printf '%s\n' "${code[@]}"
    find tools .ci docs tests/e2e src bench tests -type f \( -name '*.sh' -o -name run -o -name '*.md' -o -name '*.1' \) 2>/dev/null
    ls Makefile ./*.md ./*.in 2>/dev/null; } | sed 's|^\./||' | sort -u | grep -v '^tests/data/\|/corpus/')
library=()
for file in "${code[@]}"; do
    case $file in src/cli/*) ;; src/*) library+=("$file") ;; esac
done

tools/layers.sh | found "layers"

grep -nE '[[:blank:]]+$' "${text[@]}" | found "blanks at the end of a line"
grep -lU $'\r' "${text[@]}" | found "carriage returns"
[ ${#code[@]} -gt 0 ] && grep -nP '\t' "${code[@]}" | found "tabs in C code"
[ ${#code[@]} -gt 0 ] && awk 'length > 110 { print FILENAME ":" FNR ": " length " columns" }' "${code[@]}" |
    found "lines beyond 110 columns (aim for 100)"
for file in "${text[@]}"; do
    [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ] && echo "$file"
done | found "no newline at the end"
[ ${#library[@]} -gt 0 ] && wc -l "${library[@]}" | awk '$2 != "total" && $1 > 900 { print $2 ": " $1 " lines" }' |
    found "longer than one idea (aim for 200 to 800 lines)"

# Work that is only promised, and paths that exist on one machine. The brackets keep this file out.
grep -nE '\b(TO[D]O|FIX[M]E|X[X]X|HAC[K])\b' "${text[@]}" | found "promises instead of work"
grep -nE '(^|[^A-Za-z0-9_.])/(hom[e]|wor[k]|Users)/' "${text[@]}" | found "paths of one machine"

# The library keeps no global state, prints nothing, never exits, and depends on no locale: functions
# that do are called nowhere in it. A call is the name and "(" outside a comment and a string.
calls() {
    [ ${#library[@]} -eq 0 ] || sed -snE -e '/^[[:space:]]*(\/?\*|\/\/)/d' -e 's|"([^"\\]\|\\.)*"|""|g' \
        -e "/(^|[^A-Za-z0-9_.>])($1)[[:space:]]*\(/{F;=;p}" "${library[@]}" |
        paste -d: - - - | sed 's/:[[:space:]]*/: /2'
}
calls 'v?printf|puts|putchar|perror|exit|_exit|quick_exit' | found "the library prints or exits"
calls 'gets|strcpy|strcat|v?sprintf|strtok|alloca' | found "no bound on what is written"
calls 'localtime|gmtime|ctime|asctime|strerror|rand|srand|setlocale|getenv|setenv|strtod|atof|atoi|atol' |
    found "hidden state, locale, or no error"
unset -f calls

for name in $(tools/deps.sh --list | cut -f1); do
    grep -q "^| \`$name\`" docs/dependencies.md || echo "$name"
done | found "packages that docs/dependencies.md does not explain"

# npm writes where a package came from unless it is told not to (--omit-lockfile-registry-resolved).
grep -n '"resolved"' tests/e2e/node/package-lock.json | found "the lock file names a host"

if command -v groff >/dev/null 2>&1; then
    groff -man -Tutf8 -ww -z docs/merkhet.1 2>&1 | found "manual page"
fi
if command -v shellcheck >/dev/null 2>&1; then
    shellcheck -S warning tools/*.sh .ci/run tests/e2e/*.sh 2>&1 | found "shellcheck"
fi
if [ "${TIDY:-yes}" = no ]; then
    :
elif command -v clang-tidy >/dev/null 2>&1 && [ ${#library[@]} -gt 0 ]; then
    # shellcheck disable=SC2086
    find src -name '*.c' | sort | xargs -P "$(nproc)" -n 1 sh -c 'clang-tidy --quiet "$@" -- '"${CSTD:--std=c17 -D_GNU_SOURCE} ${INC:--Isrc -Iinclude} -DMK_DEBUG" _ 2>/dev/null |
        grep -E '(warning|error):' | sed "s|^$PWD/||" | sort -u | found "clang-tidy"
else
    echo "clang-tidy is not installed: its checks were left out (tools/deps.sh lint installs it)"
fi

[ -s "$findings" ] && exit 1
echo "lint: nothing to say"
