#!/bin/bash
# Runs every fuzz target with clang's libFuzzer for FUZZ_SECONDS each, `make fuzz`.
#
# New inputs go to build/fuzz/corpus/NAME, never into the repository: what is worth keeping is copied
# to tests/fuzz/corpus/NAME by hand. An input that breaks a target is left in build/fuzz/crash/; it
# becomes a unit test. ONLY=word runs the targets whose name contains it.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${MK_BUILD:?run this through make fuzz}
export LC_ALL=C TZ=UTC ASAN_OPTIONS=allocator_may_return_null=1
mkdir -p "$build/fuzz/crash"

failed=0
for source in ${FUZZ_TARGETS:-}; do
    name=$(basename "$source" .c); name=${name#fuzz_}
    case $name in *"${ONLY:-}"*) ;; *) continue ;; esac
    mkdir -p "$build/fuzz/corpus/$name"
    arguments=(-max_total_time="${FUZZ_SECONDS:-300}" -timeout=20 -rss_limit_mb=2048 -max_len=65536
        -print_final_stats=1 -artifact_prefix="$build/fuzz/crash/$name-")
    [ -f "tests/fuzz/dict/$name.dict" ] && arguments+=(-dict="tests/fuzz/dict/$name.dict")
    arguments+=("$build/fuzz/corpus/$name")
    [ -d "tests/fuzz/corpus/$name" ] && arguments+=("tests/fuzz/corpus/$name")
    if "$build/fuzz/tests/fuzz/fuzz_$name" "${arguments[@]}" >"$build/fuzz/$name.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz/$name.log")
        printf 'ok    %-24s %s runs\n' "$name" "$runs"
    else
        failed=1
        printf 'FAIL  %-24s\n' "$name"
        tail -n 60 "$build/fuzz/$name.log" | sed 's/^/      | /'
    fi
done
exit $failed
