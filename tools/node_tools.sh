#!/bin/sh
# Installs what some tests start and we do not write: MCP clients, conformance suites, the driver of a browser,
# and the Node they run on. They go to $MK_BUILD/node (default: build/node) and nowhere else; the versions
# are those of tests/e2e/node/package-lock.json, to the byte. Does nothing when they are there.
#
#   tools/node_tools.sh           installs
#   tools/node_tools.sh --check   status 0 when they are there
#
# No script of a package is run: Node itself comes as a plain file in a package.
set -u
cd "$(dirname "$0")/.." || exit 1
source=tests/e2e/node
place=${MK_BUILD:-build}/node

ready() {
    cmp -s "$source/package-lock.json" "$place/package-lock.json" &&
        [ -e "$place/complete" ] && "$place/node_modules/.bin/node" --version >/dev/null 2>&1
}
ready && exit 0
[ "${1:-}" = --check ] && exit 1

if ! command -v npm >/dev/null 2>&1; then
    echo "There is no npm here; the tests that need it will skip. tools/deps.sh ci installs it." >&2
    exit 1
fi
mkdir -p "$place" || exit 1
rm -f "$place/complete"
cp "$source/package.json" "$source/package-lock.json" "$place/" || exit 1
# A registry may be slow or fail once; what came in already is in npm's cache.
for try in 1 2 3; do
    if (cd "$place" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error >install.log 2>&1); then
        touch "$place/complete"
        ready && exit 0
    fi
    echo "npm could not install the test programs (try $try of 3):" >&2
    tail -n 5 "$place/install.log" >&2
done
exit 1
