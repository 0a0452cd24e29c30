# Sourced after ../lib.sh by scripts that start programs of others (tools/node_tools.sh). Without them the script
# skips with one line.
#
#   . "$(dirname "$0")/lib.sh"
#   . "$repo/tests/e2e/node/lib.sh"
#   node_checks sdk.mjs s          # sdk.mjs prints TAP; its lines count here
#
# $node is the Node to run, $node_modules the folder of the packages, $scripts a copy of this folder beside them, so that
# a script finds its packages wherever the build folder is.

node_modules=${MK_BUILD:-$repo/build}/node/node_modules
if ! "$repo/tools/node_tools.sh" --check; then
    skip "the test programs for Node are not installed; tools/node_tools.sh installs them"
    finish
fi
node=$node_modules/.bin/node
scripts=$work/.node
mkdir "$scripts"
cp "$repo"/tests/e2e/node/*.mjs "$repo/tests/e2e/node/package.json" "$scripts/"
ln -s "$node_modules" "$scripts/node_modules"

# node_checks SCRIPT ARGUMENTS...: runs a script that prints TAP, and counts its checks as ours. A script that ends
# without its plan has failed.
node_checks() {
    local script=$1 line; shift
    "$node" "$scripts/$script" "$@" >"$work/.tap" 2>"$work/.tap_err" </dev/null
    while IFS= read -r line; do
        case $line in
        "ok - "*) ok "${line#ok - }" ;;
        "not ok - "*) not_ok "${line#not ok - }" ;;
        "# "*) echo "$line" ;;
        esac
    done <"$work/.tap"
    if ! tail -n 1 "$work/.tap" | grep -q '^done$'; then
        not_ok "$script reaches its end" "$(tail -n 30 "$work/.tap_err")"
    fi
}
