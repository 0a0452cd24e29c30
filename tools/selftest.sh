#!/bin/bash
# Tests of the tools themselves, as TAP: each check here must be able to fail, so each is shown a tree
# or a machine where it has to.
set -u
cd "$(dirname "$0")/.." || exit 1
tools=$PWD/tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
failures=0

check() { # name, 0 when it holds, what was seen
    checks=$((checks + 1))
    if [ "$2" -eq 0 ]; then echo "ok $checks - $1"; return; fi
    failures=$((failures + 1))
    echo "not ok $checks - $1"
    printf '%s\n' "${3:-}" | sed 's/^/# /'
}
has() { case $1 in *"$2"*) return 0 ;; *) return 1 ;; esac; }

# --- layers ------------------------------------------------------------------------------------

tree() { # file, its only line: a fresh tree with that one file in it
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src/base" "$work/tree/include" "$(dirname "$work/tree/$1")"
    printf '%s\n' "$2" >"$work/tree/$1"
    said=$("$tools/layers.sh" "$work/tree" 2>&1)
    rc=$?
}
layer_breach() { # file, line, words of the message
    tree "$1" "$2"
    [ $rc -ne 0 ] && has "$said" "$3" && has "$said" "$1"
    check "layers: a breach is caught: $1 with $2" $? "status $rc: $said"
}
layer_fine() {
    tree "$1" "$2"
    check "layers: allowed: $1 with $2" $rc "$said"
}
layer_breach src/base/a.c '#include "store/log.h"' "src/base may not know src/store"
layer_breach src/store/a.h '#  include "op/op.h"' "src/store may not know src/op"
layer_breach src/load/a.c '#include "op/op.h"' "src/load may know src/base and src/store only"
layer_breach src/op/a.c '#include "store/log_internal.h"' "may not know the inside of src/store"
layer_breach src/op/a.c '#include "store/internal.h"' "may not know the inside of src/store"
layer_breach src/op/a.c '#include "../cli/args.h"' "write the path from src/"
layer_breach src/op/a.c '#include "tools/x.h"' "there is no folder src/tools"
layer_breach include/merkhet.h '#include "base/err.h"' "stands alone"
tree src/odd/a.c ''
[ $rc -ne 0 ] && has "$said" "src/odd: this folder has no place"
check "layers: a folder without a place in the order is caught" $? "$said"
layer_fine src/store/a.c '#include "base/err.h"'
layer_fine src/store/a.c '#include "store/log_internal.h"'
layer_fine src/load/a.c '#include "store/op.h"'
layer_fine src/cli/a.c '#include "load/csv.h"'
layer_fine src/api.c '#include "op/registry.h"'
layer_fine src/base/a.c '/* #include "store/log.h" would be a breach */'

# --- exports -----------------------------------------------------------------------------------

cat >"$work/api.h" <<'H'
/* MK_API mk_in_a_comment(void); is not a declaration. */
#ifndef API_H
#define API_H
#define MK_API __attribute__((visibility("default")))
typedef struct mk_store mk_store; /* MK_API; */
MK_API int mk_open(const char *dir, mk_store **out);
MK_API const char *mk_name(int (*visit)(void *ctx, int n),
                           void *ctx);
MK_API extern const int mk_limits[4];
MK_API __attribute__((warn_unused_result)) int mk_checked(void) __attribute__((nonnull));
int mk_not_public(void);
#endif
H
said=$("$tools/exports.sh" list "$work/api.h" | tr '\n' ' ')
[ "$said" = "mk_checked mk_limits mk_name mk_open " ]
check "exports: the header's MK_API declarations, and no others" $? "$said"
said=$("$tools/exports.sh" map "$work/none.h")
has "$said" "local: *;" && ! has "$said" "global"
check "exports: no header, nothing exported" $? "$said"

if command -v gcc >/dev/null; then
    cat >"$work/api.c" <<'C'
int mk_open(void) { return 0; }
int mk_name(void) { return 0; }
int mk_checked(void) { return 0; }
const int mk_limits[4] = {0};
C
    gcc -shared -fPIC -o "$work/good.so" "$work/api.c"
    said=$("$tools/exports.sh" check "$work/api.h" "$work/good.so" 2>&1)
    check "exports: a library that matches passes" $? "$said"
    { cat "$work/api.c"; echo 'int helper(void) { return 1; }'; } >"$work/more.c"
    gcc -shared -fPIC -o "$work/more.so" "$work/more.c"
    said=$("$tools/exports.sh" check "$work/api.h" "$work/more.so" 2>&1)
    [ $? -ne 0 ] && has "$said" "exports helper"
    check "exports: a symbol too many is caught" $? "$said"
    sed '/mk_name/d' "$work/api.c" >"$work/less.c"
    gcc -c -o "$work/less.o" "$work/less.c" && ar rcs "$work/less.a" "$work/less.o"
    said=$("$tools/exports.sh" check "$work/api.h" "$work/less.a" 2>&1)
    [ $? -ne 0 ] && has "$said" "lacks mk_name"
    check "exports: a symbol too few is caught, in a static library too" $? "$said"
fi

# --- packages: a machine made of small programs --------------------------------------------------

# The folder becomes the whole PATH, so what is not put there does not exist.
machine() { # user id, packages that dpkg-query calls installed
    rm -rf "$work/bin"
    mkdir "$work/bin"
    for name in sh bash cat cut sed tr head env printf grep mkdir; do ln -s "$(command -v $name)" "$work/bin/$name" 2>/dev/null; done
    : >"$work/calls"
    printf '#!/bin/sh\necho %s\n' "$1" >"$work/bin/id"
    { echo '#!/bin/sh'; for name in $2; do echo "echo '$name installed'"; done; } >"$work/bin/dpkg-query"
    chmod +x "$work/bin/id" "$work/bin/dpkg-query"
}
tool() { # name, body: a program that notes its call
    printf '#!/bin/sh\necho "%s $*" >>"%s"\n%s\n' "$1" "$work/calls" "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
deps() { said=$(PATH=$work/bin "$tools/deps.sh" "$@" 2>&1); rc=$?; calls=$(cat "$work/calls"); }
every=$("$tools/deps.sh" --list | cut -f1 | tr '\n' ' ')
no_zstd=${every/libzstd-dev/}

machine 0 "$every"
deps build test fuzz lint
[ $rc -eq 0 ] && [ -z "$said" ]
check "deps: silent when all is there" $? "status $rc: $said"

machine 0 "$no_zstd"
tool apt-get 'exit 0'
tool apt-cache 'exit 0'
deps build test
[ $rc -eq 0 ] && has "$said" "libzstd-dev" && has "$said" "zstd input" && has "$calls" "install -y" &&
    has "$calls" "libzstd-dev" && ! has "$calls" "update" && ! has "$calls" "git"
check "deps: says which and why, installs just that, leaves the lists alone" $? "status $rc: $said / $calls"

machine 0 "$no_zstd"
tool apt-get 'exit 0'
tool apt-cache 'exit 100'
deps build
[ $rc -eq 0 ] && has "$calls" "update" && has "$calls" "install -y"
check "deps: updates the package lists when they do not know the package" $? "status $rc: $said / $calls"

machine 0 "$no_zstd"
tool apt-get 'exit 100'
tool apt-cache 'exit 0'
deps build
[ $rc -eq 1 ] && has "$said" "could not install: libzstd-dev"
check "deps: a failed installation is said and fails" $? "status $rc: $said"

machine 1000 "$no_zstd"
tool apt-get 'exit 0'
tool apt-cache 'exit 0'
tool sudo 'exec "$@"'
deps build
[ $rc -eq 0 ] && has "$calls" "sudo env DEBIAN_FRONTEND=noninteractive apt-get"
check "deps: uses sudo when not root" $? "status $rc: $said / $calls"

machine 1000 "$no_zstd"
tool apt-get 'exit 0'
deps build
[ $rc -eq 1 ] && has "$said" "no sudo" && [ -z "$calls" ]
check "deps: neither root nor sudo: says the command, runs nothing" $? "status $rc: $said / $calls"

machine 0 "$no_zstd"
deps build
[ $rc -eq 1 ] && has "$said" "no apt-get here" && has "$said" "libzstd-dev"
check "deps: no apt-get: one clear line and status 1" $? "status $rc: $said"

machine 0 "$no_zstd"
tool apt-get 'exit 0'
deps --check build
[ $rc -eq 1 ] && has "$said" "apt-get install libzstd-dev" && [ -z "$calls" ]
check "deps: --check names the command and runs nothing" $? "status $rc: $said / $calls"

# --- the runner ----------------------------------------------------------------------------------

# A copy of the repository's runner over programs that end in every way a test can end.
mkdir -p "$work/repo/tools" "$work/repo/tests/e2e" "$work/repo/build/asan/tests/unit"
cp tools/runtests.sh "$work/repo/tools/"
for name in checks.sh selftest.sh readme_test.sh; do
    printf '#!/bin/sh\necho 1..1; echo ok 1\n' >"$work/repo/tools/$name"
    chmod +x "$work/repo/tools/$name"
done
program() { printf '#!/bin/sh\n%s\n' "$2" >"$work/repo/build/asan/tests/unit/test_$1"; chmod +x "$work/repo/build/asan/tests/unit/test_$1"; }
run_tests() { # built, timeout, names
    local built=$1 seconds=$2 list="" name; shift 2
    for name; do list="$list tests/unit/test_$name.c"; done
    said=$(unset ONLY VARIANT; MK_BUILD=$work/repo/build BUILT=$built MK_TEST_TIMEOUT=$seconds TESTS=$list \
        THREAD_TESTS='' FUZZ_TARGETS='' "$work/repo/tools/runtests.sh" 2>&1)
    rc=$?
    last=$(printf '%s\n' "$said" | tail -n 1)
}
program good 'echo 1..2; echo "ok 1 - a"; echo "not ok 2 # SKIP b"'
program bad 'echo 1..2; echo "ok 1 - a"; echo "not ok 2 - b"; exit 1'
program crash 'echo 1..3; echo "ok 1 - a"; kill -SEGV $$'
program silent 'exit 0'
program slow 'echo 1..1; sleep 20; echo ok 1'
program late 'echo 1..1; echo "ok 1 - a"; exit 23'

run_tests yes 20 good
[ $rc -eq 0 ] && [ "$last" = "6 passed, 0 failed, 1 skipped" ]
check "runner: counts passed and skipped tests" $? "status $rc: $said"
run_tests yes 20 good bad
[ $rc -eq 1 ] && [ "$last" = "7 passed, 1 failed, 1 skipped" ] && has "$said" "| not ok 2 - b"
check "runner: a failure is counted and its output shown" $? "status $rc: $said"
for name in crash silent late absent; do
    run_tests yes 20 $name
    [ $rc -eq 1 ] && has "$last" ", 1 failed"
    check "runner: a program that is $name has failed" $? "status $rc: $said"
done
run_tests yes 1 slow
[ $rc -eq 1 ] && has "$last" ", 1 failed" && has "$said" "stopped after 1 s"
check "runner: a program that hangs is stopped and has failed" $? "status $rc: $said"
run_tests no 20 good
[ $rc -eq 1 ] && has "$last" ", 1 failed"
check "runner: a source that does not compile is a failure" $? "status $rc: $said"

# --- the fuzz driver -----------------------------------------------------------------------------

if command -v gcc >/dev/null; then
    # Breaks on an input that is in no corpus but close to one.
    cat >"$work/fuzz.c" <<'C'
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 2 && data[0] == '{' && data[1] == '{')
        abort();
    return 0;
}
C
    mkdir "$work/corpus"
    printf '{"a":1}' >"$work/corpus/a"
    ulimit -c 0
    gcc -std=c17 -D_GNU_SOURCE -o "$work/fuzz" "$work/fuzz.c" tests/fuzz/driver.c
    said=$("$work/fuzz" --runs 50000 --crash "$work/crash" "$work/corpus" 2>&1)
    [ $? -ne 0 ] && has "$said" "ok 1 - corpus: 1 files" && ! has "$said" "ok 2" &&
        [ "$(head -c 2 "$work/crash")" = '{{' ]
    check "fuzz driver: finds what a mutation away breaks, and keeps the input" $? "$said"
    said=$("$work/fuzz" --runs 0 --crash "$work/again" "$work/crash" 2>&1)
    [ $? -ne 0 ] && ! has "$said" "ok 1"
    check "fuzz driver: the kept input breaks the target again" $? "$said"
    said=$("$work/fuzz" --runs 0 "$work/corpus" "$work/absent" 2>&1)
    check "fuzz driver: a corpus that is fine passes, one that is absent is empty" $? "$said"
fi

echo "1..$checks"
[ $failures -eq 0 ]
