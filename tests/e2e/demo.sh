#!/bin/bash
# The demonstration runs to its end, checks itself, and cleans up.
. "$(dirname "$0")/lib.sh"
mkdir tmp
began=$(date +%s)
TMPDIR=$work/tmp MK_PROGRAM=$merkhet bash "$repo/tools/demo.sh" >out 2>&1
is "the demo succeeds" "$?" 0
[ $failures -eq 0 ] || not_ok "its output" "$(tail -n 20 out)"
contains "its last line" "$(tail -n 1 out)" "killed, recovered, verified, rebuilt, questioned"
took=$(($(date +%s) - began))
if [ $took -lt 60 ]; then ok "it takes $took s"; else not_ok "it takes $took s"; fi
is "it leaves nothing behind" "$(ls tmp)" ""
finish
