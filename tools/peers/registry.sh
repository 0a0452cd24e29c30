#!/bin/bash
# The registry on Merkhet and on the reference, in one run: tools/peers/registry.sh SCALE [FOLDER]
#
# Needs Python with the reference's package (`pip install tgms duckdb` in a virtual environment; PYTHON names its
# interpreter). Prints the JSON lines of all systems and then how many times longer each peer takes; a cell
# counts only when the answers are the same.
set -eu
scale=$1
work=${2:-$(mktemp -d)}
here=$(cd "$(dirname "$0")" && pwd)
merkhet=${MK_PROGRAM:-$here/../../build/merkhet}
python=${PYTHON:-python3}
"$python" -c 'import tgms' 2>/dev/null || { echo "the reference is not installed: set PYTHON" >&2; exit 1; }
tgms=$(dirname "$(command -v "$python")")/tgms
mkdir -p "$work"
cd "$work"
"$merkhet" bench registry --scale "$scale" --queries >queries
"$merkhet" synth registry -n "$scale" -o log.jsonl >/dev/null
"$merkhet" bench registry --scale "$scale" --json | tee merkhet.jsonl
for engine in native duckdb; do
    : >"$engine.jsonl"
    if [ -d "$engine" ] || "$tgms" replay log.jsonl --store "$engine" --backend "$engine" >/dev/null 2>"$engine.err"; then
        "$python" "$here/tgms_registry.py" "$engine" "tgms-$engine" "$scale" <queries | tee "$engine.jsonl"
    else
        echo "tgms-$engine cannot load the log: $(tail -n 1 "$engine.err")" >&2
        rm -rf "$engine"
    fi
done
"$python" - <<'EOF'
import json
rows = {}
for name in ("merkhet", "native", "duckdb"):
    for line in open(name + ".jsonl"):
        row = json.loads(line)
        rows.setdefault(row["query"], {})[name] = row
print(f"{'query':18}{'merkhet ms':>12}{'native':>12}{'duckdb':>12}   (times longer; '-': not the same answer)")
for query, row in rows.items():
    own = row["merkhet"]
    cells = []
    for name in ("native", "duckdb"):
        same = name in row and row[name]["hash"] == own["hash"] and row[name]["p50_ms"]
        cells.append(f"{row[name]['p50_ms'] / own['p50_ms']:.1f}x" if same else "-")
    print(f"{query:18}{own['p50_ms']:12.3f}{cells[0]:>12}{cells[1]:>12}")
EOF
