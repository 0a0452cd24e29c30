#!/bin/bash
# Pastes the README's quick start into a shell, as a newcomer would, and reports each step as TAP.
#
# The quick start is the fenced block after the line "<!-- quick start -->". It runs in an empty folder
# with the built program first in PATH and stops at the first command that fails. Lines of the form
# "#=> text" after a command say what its output must contain.
set -u
cd "$(dirname "$0")/.." || exit 1
program=${MK_PROGRAM:-$PWD/build/merkhet}

echo 1..1
if [ ! -x "$program" ]; then
    echo "ok 1 # SKIP the program is not built: $program"
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/here"
ln -s "$program" "$scratch/bin/merkhet"

awk '/^<!-- quick start -->$/ { wait = 1; next }
     wait && /^```/ { if (inside) exit; inside = 1; next }
     inside { print }' README.md >"$scratch/block"
if [ ! -s "$scratch/block" ]; then
    echo "not ok 1 - README.md has a quick start"
    exit 1
fi

# "#=> text" becomes a check of what the script has printed since the one before it.
awk -v q="'" '
    /^#=> / { text = substr($0, 5); gsub(q, q "\\" q q, text); print "expect " q text q; next }
    { print }' "$scratch/block" >"$scratch/script"
cat >"$scratch/run" <<'RUN'
set -eu -o pipefail
exec 3>&1 >"$SCRATCH/out" 2>&1
trap 'rc=$?; cat "$SCRATCH/out" >&3; exit $rc' EXIT
expect() {
    if ! grep -qF -- "$1" "$SCRATCH/out"; then echo "the README promises: $1"; exit 1; fi
    cat "$SCRATCH/out" >&3
    : >"$SCRATCH/out"
}
RUN
cat "$scratch/script" >>"$scratch/run"

cd "$scratch/here" || exit 1
if said=$(unset MERKHET_STORE; SCRATCH=$scratch PATH="$scratch/bin:$PATH" bash "$scratch/run" 2>&1); then
    echo "ok 1 - the quick start of README.md works when pasted"
else
    echo "not ok 1 - the quick start of README.md works when pasted"
    echo "$said" | sed 's/^/# /'
    exit 1
fi
