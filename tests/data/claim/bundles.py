#!/usr/bin/env python3
"""Writes answer.bundle.json and false.bundle.json beside itself, from docs/trace-format.md alone.

Not part of the build: a second implementation of the format, so that the tests do not compare our code
with itself."""
import hashlib
import json
import pathlib


def canon(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value):
    return hashlib.sha256(canon(value).encode()).hexdigest()


def leaf(path, value):
    return hashlib.sha256(b"\0" + canon([path, value]).encode()).digest()


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + root(leaves[:split]) + root(leaves[split:])).digest()


def members(prefix, value):
    for name in sorted(value):
        path, member = f"{prefix}.{name}", value[name]
        if isinstance(member, list):
            yield leaf(path + "[]", len(member))
            for index, item in enumerate(member):
                yield leaf(f"{path}[{index}]", item)
        else:
            yield leaf(path, member)


PAYLOAD = {"cursor": None, "rows_total": 2, "truncated": False,
           "rows": [{"earliest_arrival": 20, "uid": "b"}, {"earliest_arrival": 30, "uid": "c"}]}
CALL = {"args": {"as_of_tt": 500, "cursor": None, "delta_max_wait": None, "direction": "out", "limit": None,
                 "src": "a", "window": {"t_a": 0, "t_b": 100}},
        "as_of_tt": 500, "completeness": {}, "deps": [], "op": "temporal_reachability",
        "payload_digest": digest(PAYLOAD)}
PLAN = {"answer_spec": {"from": "s1.rows", "kind": "entity_set"}, "plan_id": "p1", "question": "Whom does a reach?",
        "steps": [{"args": {"src": "a", "window": {"t_a": 0, "t_b": 100}}, "depends_on": [], "id": "s1",
                   "op": "temporal_reachability"}]}
TRACE = {"answer": PAYLOAD["rows"], "answer_error": None, "answer_gaps": [], "as_of_tt": 500, "ok": True,
         "plan": PLAN, "plan_id": "p1",
         "steps": [{"call_digest": digest(CALL), "completeness": {}, "op": "temporal_reachability",
                    "result_digest": digest(PAYLOAD), "rows_returned": 2, "rows_total": 2, "status": "ok",
                    "step_id": "s1", "truncated": False}]}


def claims(count):
    return [{"evidence": ["s1"], "from": "s1.rows", "id": "c1", "type": "set_equal", "uids": ["b", "c"]},
            {"evidence": ["s1"], "from": "s1.rows_total", "id": "c2", "type": "count", "value": count}]


def bundle(answer, report_claims):
    report = {"claims": report_claims, "schema_valid": True,
              "metrics": {"coverage": 1.0, "n_claims": len(report_claims), "ucr": 0.0, "uncovered": []}}
    whole = {"answer": answer, "as_of_tt": 500, "bundle": 1, "calls": {digest(CALL): CALL},
             "payloads": {digest(PAYLOAD): PAYLOAD}, "plan": PLAN, "prompts": [], "question": "Whom does a reach?",
             "report": report, "trace": TRACE, "versions": {"merkhet": "0.1.0"}}
    leaves = [leaf("s1", CALL), *members("s1", PAYLOAD), leaf("plan", PLAN), *members("answer", answer),
              leaf("report", report)]
    names = ["answer", "plan", "prompts", "question", "report", "trace", "versions"]
    whole["digests"] = {name: digest(whole[name]) for name in names} | {"root": root(leaves).hex()}
    return canon(whole) + "\n"


HERE = pathlib.Path(__file__).parent
SUPPORTED = [
    {"id": "c1", "reason": "exactly these are there", "reasons": [], "type": "set_equal", "verdict": "supported"},
    {"id": "c2", "reason": "2 is what s1 gives", "reasons": [], "type": "count", "verdict": "supported"}]
(HERE / "answer.bundle.json").write_text(bundle({"claims": claims(2), "text": "2 are found: b, c."}, SUPPORTED))
(HERE / "false.bundle.json").write_text(bundle({"claims": claims(3), "text": "3 are found."}, []))
