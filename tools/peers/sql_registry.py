#!/usr/bin/env python3
"""Runs the registry's queries in SQL on DuckDB or PostgreSQL, as `merkhet bench registry` runs them on Merkhet.

    sql_registry.py duckdb|postgres WHERE LOG SCALE < queries

WHERE is DuckDB's database file or PostgreSQL's connection string; what is in it already is used again, otherwise
LOG is loaded. Protocol: evaluation specification, 20.4. The expected answers come from MERKHET_ROWS, a file of
the JSON lines that `merkhet bench registry --json` printed; an answer that differs is not timed."""
import csv
import hashlib
import json
import math
import os
import sys
import tempfile
import threading
import time

import sql_log
import sql_queries

NODE = "uid text, vid text, label text, name text, vt_s bigint, vt_e bigint, tt_s bigint, tt_e bigint"
EDGE = ("eid text, vid text, src text, dst text, rel_type text, weight bigint, vt_s bigint, vt_e bigint,"
        " tt_s bigint, tt_e bigint")
VIEWS = (f"CREATE VIEW n AS SELECT * FROM node WHERE tt_e = {sql_log.OPEN}",
         f"CREATE VIEW e AS SELECT * FROM edge WHERE tt_e = {sql_log.OPEN}")
GUARD_SECONDS = 120  # for one statement


class Duck:
    """One thread per core, as it comes; the table in order of time, as the log is, so that its zone maps help."""

    def __init__(self, where):
        import duckdb
        self.base = duckdb.connect(where)

    def run(self, sql, values=()):
        spelled = sql.replace(" DIV ", " // ").replace("= ANY(?)", "IN (SELECT unnest(string_to_array(?, ' ')))")
        guard = threading.Timer(GUARD_SECONDS, self.base.interrupt)
        guard.start()
        try:
            return self.base.execute(spelled, values).fetchall()
        finally:
            guard.cancel()

    def do(self, sql):
        self.base.execute(sql)

    def is_loaded(self):
        return bool(self.run("SELECT 1 FROM information_schema.tables WHERE table_name = 'edge'"))

    def load(self, table, columns, path):
        self.do(f"CREATE TABLE {table} ({columns})")
        self.do(f"COPY {table} FROM '{path}' (FORMAT csv, HEADER false)")

    def finish(self):
        self.do("CREATE INDEX node_uid ON node(uid)")
        self.do("CREATE INDEX edge_src ON edge(src)")
        self.do("CREATE INDEX edge_dst ON edge(dst)")
        self.do("CHECKPOINT")


class Postgres:
    """Partial indexes on what is believed now. The cluster's locale is to be C: text compares by code point."""

    def __init__(self, where):
        import psycopg2
        self.base = psycopg2.connect(where)
        self.base.autocommit = True
        self.cursor = self.base.cursor()
        self.do(f"SET statement_timeout = {GUARD_SECONDS * 1000}")

    def run(self, sql, values=()):
        spelled = sql.replace(" DIV ", " / ").replace("= ANY(?)", "= ANY(string_to_array(?, ' '))")
        self.cursor.execute(spelled.replace("?", "%s"), values)
        return self.cursor.fetchall()

    def do(self, sql):
        self.cursor.execute(sql)

    def is_loaded(self):
        return self.run("SELECT to_regclass('edge') IS NOT NULL")[0][0]

    def load(self, table, columns, path):
        self.do(f"CREATE TABLE {table} ({columns})")
        with open(path, encoding="utf-8") as rows:
            self.cursor.copy_expert(f"COPY {table} FROM STDIN (FORMAT csv)", rows)

    def finish(self):
        now = f"WHERE tt_e = {sql_log.OPEN}"
        self.do("CREATE INDEX ON node(uid, vt_s)")
        for columns in ("src, vt_s", "dst, vt_s", "vt_s", "vt_e", "eid"):
            self.do(f"CREATE INDEX ON edge({columns}) {now}")
        self.do("VACUUM ANALYZE node")
        self.do("VACUUM ANALYZE edge")


def load(system, log):
    nodes, edges = sql_log.fold(log)
    for table, columns, rows in (("node", NODE, nodes), ("edge", EDGE, edges)):
        with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
            file.flush()
            system.load(table, columns, file.name)
    for view in VIEWS:
        system.do(view)
    system.finish()


def size_of(payload):
    if "rows_total" in payload:
        return payload["rows_total"]
    totals = [v for k, v in payload.items() if k.endswith("_total") and isinstance(v, int)]
    return sum(totals) if totals else payload["count"]


def hash_of(payload):
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def timed(ask):
    start = time.perf_counter()
    ask()
    return (time.perf_counter() - start) * 1e3


def measure(system, query, row, expected):
    ask = lambda: sql_queries.OPERATORS[query["op"]](system.run, query["args"])
    payload = ask()
    row["hash"], row["rows"] = hash_of(payload), size_of(payload)
    if expected is not None and row["hash"] != expected:
        row["verdict"] = "not the same answer"
        return
    for _ in range(5):
        ask()
    times = [timed(ask)]
    times += [timed(ask) for _ in range(29 if times[0] < 1000 else 9)]
    times.sort()
    n = len(times)
    row["p50_ms"] = round((times[(n - 1) // 2] + times[n // 2]) / 2, 6)
    row["p95_ms"] = round(times[math.ceil(0.95 * n) - 1], 6)


def main():
    name, where, log, scale = sys.argv[1:5]
    system = Duck(where) if name == "duckdb" else Postgres(where)
    if not system.is_loaded():
        load(system, log)
    expected = {}
    if os.environ.get("MERKHET_ROWS"):
        with open(os.environ["MERKHET_ROWS"], encoding="utf-8") as lines:
            expected = {r["query"]: r["hash"] for r in map(json.loads, lines)}
    for line in sys.stdin:
        query = json.loads(line)
        row = {"query": query["query"], "system": name, "scale": int(scale), "hash": None, "p50_ms": None,
               "p95_ms": None, "rows": 0}
        try:
            measure(system, query, row, expected.get(query["query"]))
        except Exception as failure:  # a peer's errors have many classes; the row says what happened
            row["verdict"] = "failed: " + " ".join(str(failure).split())[:200]
        print(json.dumps(row, sort_keys=True, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
