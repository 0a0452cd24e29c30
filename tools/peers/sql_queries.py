"""The registry's thirteen queries in SQL that DuckDB and PostgreSQL both read; reachability needs a loop around it.

Each function takes `run(sql, values)`, which returns a list of tuples, and the query's arguments, and builds the
payload that the operators specification (7) asks for. `?` is a value, `= ANY(?)` takes a list and DIV divides
whole numbers: `run` spells both in the system's own way. Lists are passed as one text of words, which both systems
take apart a hundred times faster than they read a value for each word. Current belief is the view `e` (edges) or
`n` (nodes), which the loader makes.

Source: evaluation specification, 20.1; operators specification, 7."""

EDGE = "{0}.eid, {0}.vid, {0}.src, {0}.dst, {0}.rel_type, {0}.vt_s, {0}.vt_e"
EDGE_NAMES = ("eid", "vid", "src", "dst", "rel_type", "vt_s", "vt_e")
LIMIT = 100
NOW = (1 << 62) - 1


def words(uids):
    """The registry's uids have no spaces."""
    return " ".join(uids)


def named(names, row):
    return dict(zip(names, row))


def paged(rows, total, limit=LIMIT):
    return {"rows": rows, "rows_total": total, "truncated": total > limit}


def listed(name, run, sql, values, shape):
    """A list cut to its first rows, and how many there are: the last column is the total."""
    rows = run(sql, values)
    return {name: [shape(r) for r in rows], name + "_total": rows[0][-1] if rows else 0}


def entity_history(run, args):
    as_of = min(args.get("as_of_tt", NOW), NOW)
    rows = run("SELECT vid, uid, label, vt_s, vt_e, tt_s, name FROM node WHERE uid = ? AND tt_s <= ? AND tt_e > ?"
               " ORDER BY vt_s, vid", (args["uid"], as_of, as_of))
    out = [{**named(("vid", "uid", "label", "vt_s", "vt_e", "tt_s"), r), "tt_e": NOW + 1,
            "props": {} if r[6] is None else {"name": r[6]}, "source": "ingest", "provenance_ref": None}
           for r in rows]
    return paged(out, len(out))


def snapshot_subgraph(run, args):
    t = args["t_valid"]
    hop = {}
    level = list(args["seeds"])
    for depth in range(args["hops"] + 1):
        if depth:
            level = [r[0] for r in run(
                "SELECT dst FROM e WHERE src = ANY(?) AND vt_s <= ? AND vt_e > ? UNION "
                "SELECT src FROM e WHERE dst = ANY(?) AND vt_s <= ? AND vt_e > ?", (words(level), t, t) * 2)]
        there = run("SELECT DISTINCT uid, label FROM n WHERE uid = ANY(?) AND vt_s <= ? AND vt_e > ?",
                    (words(level), t, t))
        found = {uid: (depth, label) for uid, label in there if uid not in hop}
        hop.update(found)
        level = list(found)
    everyone = words(hop)
    edges = listed("rows", run, f"SELECT {EDGE.format('e')}, count(*) OVER () FROM e WHERE src = ANY(?) AND"
                   f" dst = ANY(?) AND vt_s <= ? AND vt_e > ? ORDER BY vt_s, vid LIMIT {LIMIT}",
                   (everyone, everyone, t, t), lambda r: named(EDGE_NAMES, r))
    nodes = sorted((h, uid, label) for uid, (h, label) in hop.items())
    more = len(nodes) > LIMIT
    return {**edges, "nodes": [{"uid": u, "label": x, "hop": h} for h, u, x in nodes[:LIMIT]],
            "nodes_total": len(nodes), "nodes_truncated": more,
            "truncated": more or edges["rows_total"] > LIMIT}


AT = ("WITH x AS (SELECT * FROM {0} WHERE vt_s <= ? AND vt_e > ?),"
      " y AS (SELECT * FROM {0} WHERE vt_s <= ? AND vt_e > ?) ")
GONE = (AT + "SELECT {1}, count(*) OVER () FROM x WHERE NOT EXISTS (SELECT 1 FROM y WHERE y.{2} = x.{2})"
        " ORDER BY x.{2} LIMIT 100")


def diff_snapshots(run, args):
    before, after = (args["t1"],) * 2, (args["t2"],) * 2
    edge = GONE.format("e", "x.eid, x.src, x.dst, x.rel_type", "eid")
    node = GONE.format("n", "x.uid", "uid")
    weight = lambda w: {"props": {} if w is None else {"weight": w}}
    label = lambda x, name: {"label": x, "props": {} if name is None else {"name": name}}
    shape = lambda r: named(("eid", "src", "dst", "rel_type"), r)
    out = {**listed("nodes_added", run, node, after + before, lambda r: r[0]),
           **listed("nodes_removed", run, node, before + after, lambda r: r[0]),
           **listed("edges_added", run, edge, after + before, shape),
           **listed("edges_removed", run, edge, before + after, shape)}
    nodes = listed("c", run, AT.format("n") + "SELECT x.uid, x.label, x.name, y.label, y.name, count(*) OVER ()"
                   " FROM x JOIN y ON x.uid = y.uid WHERE x.vid <> y.vid AND (x.label <> y.label OR"
                   " x.name IS DISTINCT FROM y.name) ORDER BY x.uid LIMIT 100", before + after,
                   lambda r: {"kind": "node", "id": r[0], "from": label(r[1], r[2]), "to": label(r[3], r[4])})
    edges = listed("c", run, AT.format("e") + "SELECT x.eid, x.weight, y.weight, count(*) OVER () FROM x JOIN y"
                   " ON x.eid = y.eid WHERE x.vid <> y.vid AND x.weight IS DISTINCT FROM y.weight"
                   " ORDER BY x.eid LIMIT 100", before + after,
                   lambda r: {"kind": "edge", "id": r[0], "from": weight(r[1]), "to": weight(r[2])})
    out["props_changed"] = (nodes["c"] + edges["c"])[:LIMIT]
    out["props_changed_total"] = nodes["c_total"] + edges["c_total"]
    out["truncated"] = any(v > LIMIT for k, v in out.items() if k.endswith("_total"))
    return out


def temporal_reachability(run, args):
    """Rounds of relaxing: SQL takes every arc that leaves a node reached earlier than before. (As one recursive
    statement, which can only collect states and not improve them, it takes minutes on either system.)"""
    a, b = args["window"]["t_a"], args["window"]["t_b"]
    best = {args["src"]: a}
    improved = list(best.items())
    while improved:
        rows = run("""
            WITH f AS (SELECT unnest(string_to_array(?, ' ')) AS uid,
                              CAST(unnest(string_to_array(?, ' ')) AS BIGINT) AS tau)
            SELECT e.dst, min(greatest(f.tau, e.vt_s)) FROM f JOIN e ON e.src = f.uid
            WHERE e.vt_s < ? AND e.vt_e > ? AND e.vt_e > f.tau GROUP BY e.dst""",
                   (words(uid for uid, _ in improved), words(str(tau) for _, tau in improved), b, a))
        improved = [(uid, tau) for uid, tau in rows if uid not in best or tau < best[uid]]
        best.update(improved)
    del best[args["src"]]
    order = sorted((tau, uid) for uid, tau in best.items())
    return paged([{"uid": uid, "earliest_arrival": tau} for tau, uid in order[:LIMIT]], len(order))


def temporal_paths(run, args):
    a, b, k, hops = args["window"]["t_a"], args["window"]["t_b"], args["k"], args["max_hops"]
    if hops != 3:
        raise ValueError("the statement is for three hops")
    none = "NULL, NULL, NULL, NULL, CAST(NULL AS BIGINT)"
    rows = run(f"""
        WITH w AS (SELECT src, dst, rel_type, eid, vt_s, vt_e FROM e WHERE vt_s < ? AND vt_e > ? AND src <> dst),
        x AS (SELECT w.*, greatest(CAST(? AS BIGINT), vt_s) AS tau FROM w WHERE src = ?),
        y AS (SELECT greatest(x.tau, w.vt_s) AS tau, x.src, x.dst, x.rel_type, x.eid, x.vt_s, w.src AS src2,
                     w.dst AS dst2, w.rel_type AS rel2, w.eid AS eid2, w.vt_s AS vt_s2
              FROM x JOIN w ON w.src = x.dst WHERE x.dst <> ? AND w.vt_e > x.tau AND w.dst <> x.src),
        p AS (SELECT tau, 1 AS hops, src, dst, rel_type, eid, vt_s, {none}, {none} FROM x WHERE dst = ?
              UNION ALL SELECT tau, 2, src, dst, rel_type, eid, vt_s, src2, dst2, rel2, eid2, vt_s2, {none} FROM y
                        WHERE dst2 = ?
              UNION ALL SELECT greatest(y.tau, w.vt_s), 3, y.src, y.dst, y.rel_type, y.eid, y.vt_s, src2, dst2,
                        rel2, eid2, vt_s2, w.src, w.dst, w.rel_type, w.eid, w.vt_s
                        FROM y JOIN w ON w.src = y.dst2 WHERE y.dst2 <> ? AND w.dst = ? AND w.vt_e > y.tau)
        SELECT *, count(*) OVER () FROM p ORDER BY 1, 2, 7, 6, 12, 11, 17, 16 LIMIT {k}""",
               (b, a, a, args["src"]) + (args["dst"],) * 5)
    step = ("src", "dst", "rel_type", "eid", "t")
    paths = [{"arrival": r[0], "hops": r[1], "edges": [named(step, r[2 + 5 * i:7 + 5 * i]) for i in range(r[1])]}
             for r in rows]
    return paged(paths, rows[0][-1] if rows else 0, k)


COUNTS = ("WITH g AS (SELECT i FROM generate_series(0, ?) AS s(i)),"
          " c AS (SELECT (vt_s - ?) DIV ? AS i, count(*) AS c FROM e WHERE vt_s >= ? AND vt_s < ? GROUP BY 1),"
          " x AS (SELECT g.i AS i, coalesce(c.c, 0) AS v FROM g LEFT JOIN c ON c.i = g.i) ")


def buckets_of(args):
    a, b, stride = args["window"]["t_a"], args["window"]["t_b"], args["stride"]
    count = -(-(b - a) // stride)
    bounds = lambda i: {"t_a": a + i * stride, "t_b": min(a + (i + 1) * stride, b)}
    return count, bounds, (count - 1, a, stride, a, b)


def graph_metric_timeseries(run, args):
    count, bounds, values = buckets_of(args)
    rows = run(COUNTS + f"SELECT i, v FROM x ORDER BY i LIMIT {LIMIT}", values)
    return {**paged([{**bounds(i), "value": v} for i, v in rows], count), "n_buckets": count}


def burst_detection(run, args):
    count, bounds, values = buckets_of(args)
    rows = run(COUNTS + """, h AS (SELECT i, v, avg(CAST(v AS DOUBLE PRECISION)) OVER w AS m,
            stddev_pop(CAST(v AS DOUBLE PRECISION)) OVER w AS d FROM x
            WINDOW w AS (ORDER BY i ROWS BETWEEN 10 PRECEDING AND 1 PRECEDING)),
        z AS (SELECT i, v, CASE WHEN d > 0 THEN abs(v - m) / d WHEN v = m THEN 0 ELSE 1e9 END AS z
            FROM h WHERE i > 0)
        SELECT i, v, CAST(z AS DOUBLE PRECISION) FROM z WHERE z >= ? ORDER BY i""", values + (args["params"]["z"],))
    out = [{**bounds(i), "value": float(v), "score": round(z, 9)} for i, v, z in rows]
    return {**paged(out[:LIMIT], len(out)), "n_buckets": count}


def neighborhood_evolution(run, args):
    uid, a, b = args["uid"], args["t1"], args["t2"]
    stride = max(1, (b - a) // 20)
    near = ("(SELECT dst AS u FROM e WHERE src = ? AND vt_s <= ? AND vt_e > ? UNION"
            " SELECT src FROM e WHERE dst = ? AND vt_s <= ? AND vt_e > ?)")
    side = lambda t: (uid, t, t) * 2
    change = f"SELECT u, count(*) OVER () FROM ({near} EXCEPT {near}) x WHERE u <> ? ORDER BY u LIMIT {LIMIT}"
    out = {**listed("neighbors_gained", run, change, side(b) + side(a) + (uid,), lambda r: r[0]),
           **listed("neighbors_lost", run, change, side(a) + side(b) + (uid,), lambda r: r[0])}
    rows = run("WITH v AS (SELECT vid, vt_s, vt_e FROM e WHERE src = ? UNION"
               " SELECT vid, vt_s, vt_e FROM e WHERE dst = ?)"
               " SELECT s.t, count(v.vid) FROM generate_series(?, ?, ?) AS s(t) LEFT JOIN v"
               " ON v.vt_s <= s.t AND v.vt_e > s.t GROUP BY s.t ORDER BY s.t", (uid, uid, a, b - 1, stride))
    out["degree_series"] = [{"t": t, "degree": d} for t, d in rows]
    out["stride"] = stride
    out["truncated"] = out["neighbors_gained_total"] > LIMIT or out["neighbors_lost_total"] > LIMIT
    return out


def co_active(run, args):
    got = listed("rows", run, f"SELECT {EDGE.format('a')}, {EDGE.format('b')}, count(*) OVER () FROM e a, e b"
                 " WHERE a.src = ? AND b.src = ? AND a.vt_s < b.vt_s AND b.vt_s < a.vt_e AND a.vt_e < b.vt_e"
                 f" ORDER BY a.vt_s, a.vid, b.vt_s, b.vid LIMIT {LIMIT}",
                 (args["a_spec"]["src"], args["b_spec"]["src"]),
                 lambda r: {"a": named(EDGE_NAMES, r), "b": named(EDGE_NAMES, r[7:])})
    return {**got, "truncated": got["rows_total"] > LIMIT}


def resolve_entities(run, args):
    got = listed("rows", run, f"""
        WITH s AS (SELECT uid, label, name, vt_s, vid, CASE WHEN uid = ? THEN 0
                WHEN strpos(lower(uid), lower(?)) > 0 THEN 1
                WHEN strpos(lower(name), lower(?)) > 0 THEN 2 END AS m FROM n),
        k AS (SELECT uid, min(m) AS m FROM s GROUP BY uid HAVING min(m) IS NOT NULL),
        l AS (SELECT DISTINCT ON (s.uid) s.uid, s.label, s.name, k.m FROM s JOIN k ON s.uid = k.uid
              ORDER BY s.uid, s.vt_s DESC, s.vid DESC)
        SELECT uid, label, name, m, count(*) OVER () FROM l ORDER BY m, uid LIMIT {LIMIT}""", (args["query"],) * 3,
                 lambda r: named(("uid", "label", "name", "match"), r))
    return {**got, "truncated": got["rows_total"] > LIMIT}


def aggregate_events(run, args):
    a, b, stride, limit = args["window"]["t_a"], args["window"]["t_b"], args["stride"], args["limit"]
    got = listed("rows", run, "SELECT rel_type, (vt_s - ?) DIV ? AS i, count(*), count(DISTINCT dst),"
                 " count(*) OVER () FROM e WHERE vt_s >= ? AND vt_s < ? GROUP BY rel_type, i ORDER BY rel_type, i LIMIT ?",
                 (a, stride, a, b, limit),
                 lambda r: {"rel_type": r[0], "t_a": a + r[1] * stride, "t_b": min(a + (r[1] + 1) * stride, b),
                            "count": r[2], "distinct_dst": r[3]})
    return {**got, "truncated": got["rows_total"] > limit}


def count_temporal_motifs(run, args):
    a, b, d = args["window"]["t_a"], args["window"]["t_b"], args["delta"]
    who = words(args["node_filter"])
    row = run("""
        WITH m AS (SELECT src, dst, vt_s, eid FROM e
                   WHERE vt_s >= ? AND vt_s < ? AND src = ANY(?) AND dst = ANY(?))
        SELECT (SELECT count(*) FROM m x JOIN m y ON y.src = x.dst JOIN m z ON z.src = y.dst AND z.dst = x.src
                WHERE x.src <> x.dst AND y.dst <> x.src AND y.dst <> x.dst
                  AND y.vt_s <= x.vt_s + ? AND z.vt_s <= x.vt_s + ?
                  AND (x.vt_s < y.vt_s OR x.vt_s = y.vt_s AND x.eid < y.eid)
                  AND (y.vt_s < z.vt_s OR y.vt_s = z.vt_s AND y.eid < z.eid)),
               (SELECT count(*) FROM m)""", (a, b, who, who, d, d))[0]
    return {"count": row[0], "n_events_in_window": row[1], "truncated": False}


OPERATORS = {f.__name__: f for f in (
    entity_history, snapshot_subgraph, diff_snapshots, temporal_reachability, temporal_paths,
    graph_metric_timeseries, burst_detection, neighborhood_evolution, co_active, resolve_entities, aggregate_events,
    count_temporal_motifs)}
