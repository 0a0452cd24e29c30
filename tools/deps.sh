#!/bin/sh
# Finds the Debian packages Merkhet needs, says which are missing and why, and installs them.
#
#   tools/deps.sh GROUP...           installs what is missing (sudo only when not root)
#   tools/deps.sh --check GROUP...   only says what is missing and the command to run
#   tools/deps.sh --list             package, group and reason of every row
#
# Groups: build (the program), test (make test, make demo), fuzz (make fuzz), lint (make lint), ci (what
# some tests start, and skip without).
# Prints nothing and takes milliseconds when all is there. This table is the only list of packages;
# docs/dependencies.md adds licences and what would replace each.
set -u

# package | group | probe, for systems where the package has another name | reason
table() {
    cat <<'TABLE'
gcc|build|cmd:gcc|compiles C17
libc6-dev|build|hdr:stdio.h|headers of the C library
make|build|cmd:make|runs the build
pkg-config|build|cmd:pkg-config|finds the libraries below
libssl-dev|build|pc:libcrypto|SHA-256 for digests and the chain of the log
libxxhash-dev|build|pc:libxxhash|checksums of frames and files
libzstd-dev|build|pc:libzstd|zstd input and compressed frames
zlib1g-dev|build|pc:zlib|gzip input
libutf8proc-dev|build|pc:libutf8proc|case folding and normal forms of names
libcurl4-openssl-dev|build|pc:libcurl|HTTP to model endpoints
libmicrohttpd-dev|build|pc:libmicrohttpd|HTTP for the server
libcmocka-dev|test|hdr:cmocka.h|the unit test framework
git|test|cmd:git|the demo and the tests load a git history
clang|fuzz|cmd:clang|compiles the fuzz targets with libFuzzer
libclang-rt-14-dev|fuzz|fuzzer|run-time library of libFuzzer and its sanitizers
clang-tidy|lint|cmd:clang-tidy|static checks
npm|ci|cmd:npm|installs MCP clients and conformance suites for the tests
chromium|ci|cmd:chromium|the browser that tests the page
wrk|ci|cmd:wrk|load on the HTTP server
TABLE
}

# The fuzzer's run-time has another package name for each version of clang; the one on offer counts.
resolve_name() {
    case $1 in
    libclang-rt-*)
        version=$(clang --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -n 1)
        if [ -z "$version" ] && command -v apt-cache >/dev/null; then
            version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
        fi
        echo "libclang-rt-${version:-14}-dev" ;;
    *) echo "$1" ;;
    esac
}

probe() {
    case $1 in
    cmd:*) command -v "${1#cmd:}" >/dev/null 2>&1 ;;
    pc:*) command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "${1#pc:}" ;;
    hdr:*) command -v gcc >/dev/null 2>&1 && echo "#include <${1#hdr:}>" |
        gcc -include stdarg.h -include stddef.h -include stdint.h -include setjmp.h -E -x c - >/dev/null 2>&1 ;;
    fuzzer) command -v clang >/dev/null 2>&1 &&
        test -e "$(clang -print-file-name=libclang_rt.fuzzer-x86_64.a 2>/dev/null)" ||
        ls "$(clang -print-resource-dir 2>/dev/null)"/lib/*/libclang_rt.fuzzer*.a >/dev/null 2>&1 ;;
    esac
}

rows_of() { table | while IFS='|' read -r name group how reason; do
    case " $1 " in *" $group "*) echo "$name|$how|$reason" ;; esac
done; }

mode=install
case ${1:-} in
--list) table | while IFS='|' read -r name group how reason; do printf '%s\t%s\t%s\n' "$name" "$group" "$reason"; done; exit 0 ;;
--check) mode=check; shift ;;
esac
groups=${*:-build test}

# One query to dpkg answers the common case; a package it does not know may still be there under
# another name or from another source, which the probe finds out.
rows=$(rows_of "$groups")
names=$(echo "$rows" | cut -d'|' -f1)
installed=
if command -v dpkg-query >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $names 2>/dev/null | sed -n 's/ installed$//p')
fi
missing=$(echo "$rows" | while IFS='|' read -r name how reason; do
    case "
$installed
" in *"
$name
"*) continue ;; esac
    probe "$how" || echo "$(resolve_name "$name")|$reason"
done)
[ -z "$missing" ] && exit 0

{
    echo "Missing packages:"
    echo "$missing" | while IFS='|' read -r name reason; do printf '  %-20s %s\n' "$name" "$reason"; done
} >&2
names=$(echo "$missing" | cut -d'|' -f1 | tr '\n' ' ')
names=${names% }

if ! command -v apt-get >/dev/null 2>&1; then
    echo "There is no apt-get here; install these, or what your system calls them, and run make again." >&2
    exit 1
fi
as_root=
[ "$(id -u)" = 0 ] || as_root="sudo "
if [ "$mode" = check ]; then
    echo "Install them with: ${as_root}apt-get install $names" >&2
    exit 1
fi
if [ -n "$as_root" ] && ! command -v sudo >/dev/null 2>&1; then
    echo "Not root and no sudo; as root, run: apt-get install $names" >&2
    exit 1
fi

apt() { ${as_root} env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >&2; }
# shellcheck disable=SC2086
install_now() { apt install -y --no-install-recommends $names; }
# Package lists may be absent or name versions that are gone; they are fetched only then.
known() {
    for name in $names; do
        apt-cache show --no-all-versions "$name" >/dev/null 2>&1 || return 1
    done
}

echo "Installing with ${as_root}apt-get: $names" >&2
if known && install_now; then exit 0; fi
echo "Updating the package lists first." >&2
if apt update && install_now; then exit 0; fi
echo "apt-get could not install: $names. Its messages are above; install them by hand and run make again." >&2
exit 1
