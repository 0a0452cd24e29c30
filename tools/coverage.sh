#!/bin/bash
# Lines of src/ that the tests run, by file, from the counters that `make coverage` leaves behind.
set -eu
cd "$(dirname "$0")/.."
objects=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find "$objects/src" -name '*.gcno' | sort | while read -r notes; do
    gcov -n -o "$(dirname "$notes")" "${notes%.gcno}.o" 2>/dev/null || true
done | awk '
    /^File / { file = $2; gsub("\047", "", file) }
    /^Lines executed:/ {
        split($0, part, /[:% ]+/); percent = part[3]; lines = part[5]
        # A header counts once, with the file that runs most of it.
        if (file ~ /^src\/.*\.c$/ && percent + 0 >= best[file] + 0) { best[file] = percent; count[file] = lines }
    }
    END {
        for (file in best) {
            printf "%6.1f %%  %6d  %s\n", best[file], count[file], file | "sort -k4"
            hit += best[file] * count[file] / 100; all += count[file]
        }
        close("sort -k4")
        if (all) printf "%6.1f %%  %6d  all of src/\n", 100 * hit / all, all
    }'
