#!/usr/bin/env python3
"""Runs the registry's queries on the reference, as `merkhet bench registry` runs them on Merkhet.

    tgms_registry.py STORE SYSTEM SCALE < queries

STORE is a store of the reference's own, SYSTEM its name in the output; the queries come from
`merkhet bench registry --queries`. Prints one JSON object per query, shaped like Merkhet's. The protocol is
that of the evaluation specification, 20.4: the answer is hashed before anything is timed, five calls warm up,
then 30 calls are timed, 10 when one takes a second or more."""
import hashlib
import json
import math
import sys
import time

from tgms.store import Store
from tgms.temporal.algebra import call_operator, ensure_all_registered

# What an envelope has beside the payload; the later ones came with later versions of the reference.
OWN = ("op", "args_echo", "dataset_extent", "result_digest", "cursor", "tt_q", "pinned", "clamped",
       "dependency", "tgir")


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def size_of(payload):
    if "rows_total" in payload:
        return payload["rows_total"]
    totals = [v for k, v in payload.items() if k.endswith("_total") and isinstance(v, int)]
    return sum(totals) if totals else payload.get("count", len(payload.get("rows", [])))


def measure(adapter, query, system, scale):
    row = {"query": query["query"], "system": system, "scale": scale}
    try:
        answer = call_operator(adapter, query["op"], query["args"])
    except Exception as refusal:  # the reference's own refusals have a code; anything else is a failure too
        row.update(hash=None, p50_ms=None, p95_ms=None, rows=0,
                   verdict="guardrailed" if "E_COST" in str(getattr(refusal, "code", "")) else "failed")
        return row
    payload = {k: v for k, v in answer.items() if k not in OWN}
    row["hash"] = hashlib.sha256(canonical(payload).encode()).hexdigest()[:32]
    row["rows"] = size_of(payload)
    times = []
    for _ in range(5):
        call_operator(adapter, query["op"], query["args"])
    want = 30
    while len(times) < want:
        start = time.perf_counter()
        call_operator(adapter, query["op"], query["args"])
        times.append((time.perf_counter() - start) * 1e3)
        if len(times) == 1 and times[0] >= 1000:
            want = 10
    times.sort()
    n = len(times)
    row["p50_ms"] = round((times[(n - 1) // 2] + times[n // 2]) / 2, 6)
    row["p95_ms"] = round(times[math.ceil(0.95 * n) - 1], 6)
    return row


def main():
    path, system, scale = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ensure_all_registered()
    adapter = Store(path).adapter
    for line in sys.stdin:
        print(json.dumps(measure(adapter, json.loads(line), system, scale), sort_keys=True,
                         separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
