#!/bin/bash
# Runs every test that `make test` has built, two at a time, and counts.
#
# One line for each program with its time; the output of one that fails follows its line. Programs
# speak TAP ("ok 1 - name", "not ok 2 - name", "ok 3 # SKIP why"), cmocka's included. The last line is
# "N passed, N failed", with ", N skipped" when there are any; the exit status is 0 only without failures.
#
# From the Makefile: MK_BUILD (absolute), TESTS, THREAD_TESTS, FUZZ_TARGETS (sources), BUILT (yes or no),
# MK_PROGRAM, MK_TEST_DATA, MK_SHARED_DATA. For people: MK_TEST_JOBS (2), MK_TEST_TIMEOUT (180 s),
# ONLY=word (jobs whose name contains it), MK_FUZZ_RUNS (20000) and MK_FUZZ_SECONDS (6) a target.
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C TZ=UTC
export CMOCKA_MESSAGE_OUTPUT=tap
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# One job, started by xargs below: "name|seconds|command". Everything it prints goes out in one piece
# under a lock, so two jobs never mix their lines.
run_one() {
    local name limit command job began ended rc passed failed skipped planned why
    IFS='|' read -r name limit command <<<"$1"
    job=$MK_RESULTS/${name//\//_}
    mkdir -p "$job.tmp"
    began=$(date +%s%N)
    TMPDIR=$job.tmp timeout -k 5 "$limit" bash -c "$command" >"$job.log" 2>&1 </dev/null
    rc=$?
    ended=$(date +%s%N)
    chmod -R u+w "$job.tmp" 2>/dev/null
    rm -rf "$job.tmp"

    passed=$(grep -cE '^ok\b' "$job.log"); failed=$(grep -cE '^not ok\b' "$job.log")
    skipped=$(grep -E '^(not )?ok\b' "$job.log" | grep -c '# SKIP')
    passed=$((passed - $(grep -E '^ok\b' "$job.log" | grep -c '# SKIP')))
    failed=$((failed - $(grep -E '^not ok\b' "$job.log" | grep -c '# SKIP')))
    planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$job.log" | awk '{ n += $1 } END { print n + 0 }')

    # A program that dies, hangs or says nothing has failed, whatever it counted until then.
    why=
    if [ $rc -eq 124 ] || [ $rc -eq 137 ]; then why="stopped after $limit s"
    elif [ $((passed + failed + skipped)) -lt "$planned" ]; then why="ended early with status $rc"
    elif [ $rc -ne 0 ] && [ "$failed" -eq 0 ]; then why="status $rc"
    elif [ $((passed + failed + skipped)) -eq 0 ]; then why="reported no result"
    fi
    [ -n "$why" ] && failed=$((failed + 1))
    echo "$passed $failed $skipped $name" >"$job.count"

    {
        flock 9
        awk -v name="$name" -v p="$passed" -v f="$failed" -v s="$skipped" -v why="$why" -v ns=$((ended - began)) 'BEGIN {
            count = p " passed"; if (f) count = count ", " f " failed"; if (s) count = count ", " s " skipped"
            printf "%-5s %-40s %7.2f s  %s%s\n", f ? "FAIL" : "ok", name, ns / 1e9, count, why == "" ? "" : " (" why ")" }'
        { grep -E '^skipped:' "$job.log"; sed -n 's/^\(not \)\{0,1\}ok\b.*# SKIP \(.* .*\)/skipped: \2/p' "$job.log"; } |
            sort -u | sed 's/^/      /'
        [ "$failed" -gt 0 ] && tail -n 150 "$job.log" | sed 's/^/      | /'
    } 9>"$MK_RESULTS/lock"
    return 0
}

if [ "${1:-}" = --one ]; then run_one "$2"; exit 0; fi

build=${MK_BUILD:?run this through make test}
variant=${VARIANT:-asan}
limit=${MK_TEST_TIMEOUT:-180}
export MK_RESULTS=$build/test
rm -rf "$MK_RESULTS"
mkdir -p "$MK_RESULTS"

# Sanitizers place their shadow at fixed addresses, which a kernel that randomises widely may take.
fixed=
setarch "$(uname -m)" -R true 2>/dev/null && fixed="setarch $(uname -m) -R"

job() { # name seconds command
    case $1 in *"${ONLY:-}"*) echo "$1|$2|$3" ;; esac
}
# Longest kinds first, so that no core idles at the end.
jobs_of_kind() {
    local kind=$1 source
    for source in ${TESTS:-}; do
        case $source in tests/"$kind"/*) job "$kind/$(basename "$source" .c)" "$limit" "$fixed $build/$variant/${source%.c}" ;; esac
    done
}
all_jobs() {
    local source script name
    for kind in golden property fault oracle; do jobs_of_kind $kind; done
    if [ "$variant" = asan ]; then
        for source in ${THREAD_TESTS:-}; do
            job "tsan/$(basename "$source" .c)" "$limit" "$fixed $build/tsan/${source%.c}"
        done
        for script in tests/e2e/*.sh; do
            [ -f "$script" ] && [ "$script" != tests/e2e/lib.sh ] || continue
            job "e2e/$(basename "$script" .sh)" "$limit" "bash $script"
        done
        for source in ${FUZZ_TARGETS:-}; do
            name=$(basename "$source" .c); name=${name#fuzz_}
            job "fuzz/$name" "$limit" "$fixed $build/asan/tests/fuzz/fuzz_$name --runs ${MK_FUZZ_RUNS:-20000} \
                --seconds ${MK_FUZZ_SECONDS:-6} --dict tests/fuzz/dict/$name.dict \
                --crash $build/crash_$name tests/fuzz/corpus/$name"
        done
    fi
    jobs_of_kind unit
    if [ "$variant" = asan ]; then
        job checks/layers 30 "tools/checks.sh layers"
        job checks/symbols 30 "tools/checks.sh symbols"
        job checks/packages 30 "tools/checks.sh packages"
        job checks/tools 60 "tools/selftest.sh"
        job checks/readme 60 "tools/readme_test.sh"
    fi
}

began=$SECONDS
all_jobs | xargs -r -d '\n' -n 1 -P "${MK_TEST_JOBS:-2}" "$0" --one
if [ "${BUILT:-yes}" != yes ]; then
    echo "FAIL  build: a program or a test does not compile; the messages are above"
    echo "0 1 0 build" >"$MK_RESULTS/build.count"
fi

cat "$MK_RESULTS"/*.count 2>/dev/null | awk -v seconds=$((SECONDS - began)) '
    { p += $1; f += $2; s += $3; if ($2) names = names "\n  " $4 }
    END {
        if (p + f + s == 0) { print "no test was found"; f = 1 }
        if (names) print "failed:" names
        print "took " seconds " s"
        printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""
        exit f > 0
    }'
