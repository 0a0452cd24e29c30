"""Reads an event log in the reference's JSON lines and folds it into rows of versions, for SQL systems.

Written from the store specification (3, 4 and 7), not from Merkhet's code: a mistake in either shows as an
answer hash that differs. A version is a list; an edge's is
[eid, vid, src, dst, rel_type, weight, vt_s, vt_e, tt_s, tt_e], a node's
[uid, vid, label, name, vt_s, vt_e, tt_s, tt_e]. The four times always come last."""
import hashlib
import json

OPEN = 1 << 62
VT_S, VT_E, TT_E = -4, -3, -1


def short_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def edge_id(ref):
    parts = [ref["src"], ref["dst"], ref["rel_type"], ref.get("disc", "")]
    return short_hash(json.dumps(parts, separators=(",", ":"), ensure_ascii=False))


class Versions:
    """All versions of all identities of one kind; `believed` leads from an identity to its current ones."""

    def __init__(self):
        self.rows = []
        self.believed = {}

    def add(self, fields, valid, tt):
        identity = fields[0]
        vid = short_hash(f"{identity}:{tt}:{valid[0]}")
        row = [identity, vid, *fields[1:], valid[0], valid[1], tt, OPEN]
        self.rows.append(row)
        self.believed.setdefault(identity, []).append(row)

    def overlapping(self, identity, valid):
        hits = [r for r in self.believed.get(identity, ()) if r[VT_S] < valid[1] and valid[0] < r[VT_E]]
        return sorted(hits, key=lambda r: r[VT_S])

    def supersede(self, hit, pieces, tt):
        hit[TT_E] = tt
        self.believed[hit[0]].remove(hit)
        for start, end in pieces:
            if start < end:
                self.add([hit[0], *hit[2:VT_S]], (start, end), tt)

    def carve(self, identity, valid, tt):
        """Makes room for `valid`; returns what was believed there, by start."""
        hits = self.overlapping(identity, valid)
        for hit in hits:
            self.supersede(hit, [(hit[VT_S], min(hit[VT_E], valid[0])),
                                 (max(hit[VT_S], valid[1]), hit[VT_E])], tt)
        return hits

    def retract(self, identity, at, tt):
        for hit in self.overlapping(identity, (at, at + 1)):
            self.supersede(hit, [(hit[VT_S], at)], tt)


class Folded:
    def __init__(self):
        self.nodes, self.edges, self.ingested = Versions(), Versions(), 0

    def ingest(self, op, tt):
        first = {}
        for event in op["events"]:
            ref = {"disc": f"#{self.ingested}", **event}
            self.ingested += 1
            self.edges.add([edge_id(ref), event["src"], event["dst"], event["rel_type"],
                            event.get("props", {}).get("weight")],
                           (event["vt_s"], event.get("vt_e") or event["vt_s"] + 1), tt)
            for uid in (event["src"], event["dst"]):
                first[uid] = min(first.get(uid, event["vt_s"]), event["vt_s"])
        for uid, start in first.items():
            if not self.nodes.believed.get(uid):
                self.nodes.add([uid, op.get("node_label", "Node"), None], (start, OPEN), tt)

    def correct(self, op, tt):
        ref, valid, props = op["ref"], (op["vt_s"], op["vt_e"]), op["props"]
        if ref["kind"] == "node":
            hits = self.nodes.carve(ref["uid"], valid, tt)
            self.nodes.add([ref["uid"], hits[0][2], props.get("name")], valid, tt)
        else:
            hits = self.edges.carve(edge_id(ref), valid, tt)
            self.edges.add([hits[0][0], *hits[0][2:5], props.get("weight")], valid, tt)

    def apply(self, op, tt):
        if op["op"] == "ingest_events":
            self.ingest(op, tt)
        elif op["op"] == "assert_node":
            self.nodes.carve(op["uid"], (op["vt_s"], op["vt_e"]), tt)
            self.nodes.add([op["uid"], op["label"], op["props"].get("name")], (op["vt_s"], op["vt_e"]), tt)
        elif op["op"] == "correct":
            self.correct(op, tt)
        elif op["op"] == "retract" and op["ref"]["kind"] == "edge":
            self.edges.retract(edge_id(op["ref"]), op["t"], tt)
        else:
            raise ValueError(f"the registry's log has no {op['op']}")


def fold(path):
    state = Folded()
    with open(path, encoding="utf-8") as lines:
        next(lines)  # the log's format and version
        for line in lines:
            batch = json.loads(line)
            for op in batch["ops"]:
                state.apply(op, batch["tt"])
    return state.nodes.rows, state.edges.rows
