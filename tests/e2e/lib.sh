# Sourced by every script in this folder: a fresh folder to work in, and checks that print TAP.
#
#   . "$(dirname "$0")/lib.sh"
#   is "digest of an empty store" "$("$merkhet" digest --store s)" "$expected"
#   refuses "a foreign folder" 1 E_STATE "$merkhet" stats --store /dev
#   finish
#
# $merkhet is the program under test, $work the folder (removed at the end), $data tests/data, and
# $shared the shared data, empty when it is not there.

set -u
export LC_ALL=C TZ=UTC NO_COLOR=1
unset MERKHET_STORE
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
merkhet=${MK_PROGRAM:-$repo/build/merkhet}
data=${MK_TEST_DATA:-$repo/tests/data}
shared=${MK_SHARED_DATA:-}
work=$(mktemp -d)
checks=0
failures=0
finished=no

# A script that ends before its `finish` has failed, whatever its exit status.
at_exit() {
    [ $finished = yes ] || echo "not ok $((checks + 1)) - the script reached its end"
    chmod -R u+w "$work"
    rm -rf "$work"
}
trap at_exit EXIT

ok() { checks=$((checks + 1)); echo "ok $checks - $1"; }
not_ok() { # name [what was seen]
    checks=$((checks + 1)); failures=$((failures + 1))
    echo "not ok $checks - $1"
    [ $# -lt 2 ] || printf '%s\n' "$2" | head -n 40 | sed 's/^/# /'
}
skip() { checks=$((checks + 1)); echo "ok $checks # SKIP $1"; }

# is NAME GOT WANTED
is() {
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2
wanted: $3"; fi
}
# contains NAME TEXT PART
contains() {
    case $2 in *"$3"*) ok "$1" ;; *) not_ok "$1" "no \"$3\" in: $2" ;; esac
}
# same_file NAME GOT WANTED
same_file() {
    if cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff "$2" "$3" 2>&1 | head -n 20)"; fi
}
# works NAME COMMAND...: exit status 0
works() {
    local name=$1 said; shift
    if said=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "status $?: $said"; fi
}
# refuses NAME STATUS WORD COMMAND...: this exit status, this word on stderr, nothing on stdout
refuses() {
    local name=$1 status=$2 word=$3 rc; shift 3
    "$@" >"$work/.stdout" 2>"$work/.stderr"
    rc=$?
    if [ $rc -ne "$status" ]; then not_ok "$name" "status $rc: $(cat "$work/.stderr")"
    elif [ -s "$work/.stdout" ]; then not_ok "$name" "stdout: $(cat "$work/.stdout")"
    elif ! grep -qF -- "$word" "$work/.stderr"; then not_ok "$name" "no \"$word\" in: $(cat "$work/.stderr")"
    else ok "$name"; fi
}

finish() {
    finished=yes
    echo "1..$checks"
    [ $failures -eq 0 ]
    exit
}

if [ ! -x "$merkhet" ]; then
    skip "the program is not built: $merkhet"
    finish
fi
cd "$work" || exit 1
