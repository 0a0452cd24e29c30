"""How many times longer than the first system the others take: compare.py FIRST OTHER... reads NAME.jsonl each."""
import json
import os
import sys


def read(name):
    if not os.path.exists(name + ".jsonl"):
        return {}
    with open(name + ".jsonl", encoding="utf-8") as lines:
        return {row["query"]: row for row in map(json.loads, lines)}


def cell(own, other):
    if other is None:
        return "-"
    if other["p50_ms"] and own["p50_ms"] and other["hash"] == own["hash"]:
        return f"{other['p50_ms'] / own['p50_ms']:.1f}x"
    if other.get("verdict") == "guardrailed":
        return "guardrailed"
    return "failed" if other["hash"] is None else "differs"


def main():
    first, others = sys.argv[1], sys.argv[2:]
    rows = {name: read(name) for name in (first, *others)}
    others = [name for name in others if rows[name]]
    print(f"{'query':18}{first + ' ms':>12}" + "".join(f"{name:>14}" for name in others))
    for query, own in rows[first].items():
        time = f"{own['p50_ms']:.3f}" if own["p50_ms"] else own.get("verdict", "-")
        print(f"{query:18}{time:>12}" + "".join(f"{cell(own, rows[name].get(query)):>14}" for name in others))


if __name__ == "__main__":
    main()
