#!/bin/bash
# Runs the benchmarks that `make bench` has built, one after the other, and names the machine first.
#
# From the Makefile: MK_BUILD, BENCHES (sources), MK_PROGRAM, MK_SHARED_DATA. ONLY=word runs those whose
# name contains it. Scratch files go under MK_BENCH_DIR (default: the build folder), because what is
# measured is the disk below it.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${MK_BUILD:?run this through make bench}
export LC_ALL=C TZ=UTC
scratch=${MK_BENCH_DIR:-$build}
mkdir -p "$scratch"
tools/machine.sh "$scratch"
[ -n "${BENCHES:-}" ] || { echo "there is no bench/bench_*.c"; exit 0; }

failed=0
for source in $BENCHES; do
    name=$(basename "$source" .c)
    case $name in *"${ONLY:-}"*) ;; *) continue ;; esac
    TMPDIR=$(mktemp -d "$scratch/bench.XXXXXX")
    export TMPDIR
    echo
    echo "== ${name#bench_}"
    "$build/release/${source%.c}" || { echo "$name ended with status $?" >&2; failed=1; }
    rm -rf "$TMPDIR"
done
exit $failed
