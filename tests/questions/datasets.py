#!/usr/bin/env python3
"""Makes the data sets that own60.json asks about.

    datasets.py FOLDER                       builds the git history in FOLDER/repo, splits own60.json by data set, and
                                             adds the hand-written plans to the questions that have one
    datasets.py FOLDER --merkhet PROGRAM     also loads FOLDER/bitcoinotc, FOLDER/icews14 and FOLDER/git (stores)

The history is a function of git_history.txt alone: names, dates and contents are fixed and the configuration of the
machine is not read, so every build has the same commit hashes. The last one is compared with HEAD below.
Bitcoin OTC and ICEWS14 are read from MK_SHARED_DATA (default: ../shared/data beside the tree, as for make); without
them only git is loaded.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, "../../../shared/data")
HEAD = "d0bafa72625df1a8430a2f0c38146e5574a20a0b"

PEOPLE = {
    "ana": ("Ana Lopes", "ana.lopes@harbor.example"),
    "jonas": ("Jonas Weber", "jonas@weber.example"),
    "priya": ("Priya Nair", "priya.nair@harbor.example"),
    "samo": ("Sam Okafor", "sam.okafor@harbor.example"),
    "samr": ("Sam Rivera", "srivera@coast.example"),
    "mei": ("Mei Tanaka", "mei@tanaka.example"),
}


def word(*parts):
    """Eight letters that depend on nothing but the parts."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:8]


def new_file(path, turn):
    """Between 30 and 61 lines. No two files share a line, so git sees no rename that was not meant."""
    size = 30 + int(word(path, turn), 16) % 32
    return ["%s %s %s" % (word(path, turn, i), word(path, turn, i, "b"), path) for i in range(size)]


def edited(lines, path, turn, added=1):
    """The lines with two of them replaced and `added` more at the end."""
    out = list(lines)
    for k in range(2):
        out[int(word(path, turn, k, "at"), 16) % len(out)] = "%s changed in %s" % (word(path, turn, k), turn)
    out += ["%s added in %s" % (word(path, turn, k, "end"), turn) for k in range(added)]
    return out


def apply(tree, action, turn):
    """Carries out one action on a tree (path to lines). Returns the paths to write and the paths to remove."""
    if action[0] == "+":
        path = action[1:]
        assert path not in tree, "%s is there already" % path
        tree[path] = new_file(path, turn)
        return [path], []
    if action[0] == "-":
        del tree[action[1:]]
        return [], [action[1:]]
    for mark in "~>":
        if mark in action:
            old, new = action.split(mark)
            assert new not in tree, "%s is there already" % new
            lines = tree.pop(old)
            tree[new] = edited(lines, new, turn, 0) if mark == "~" else lines
            return [new], [old]
    tree[action] = edited(tree[action], action, turn)
    return [action], []


def read_history():
    """The commits of git_history.txt: (date, zone, author, committer, branch, subject, actions)."""
    commits = []
    with open(os.path.join(HERE, "git_history.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.strip() or line.startswith("#"):
                continue
            when, who, branch, subject, actions = [part.strip() for part in line.split("|")]
            date, zone = when.split()
            author, _, committer = who.partition("/")
            commits.append((date, zone, author, committer or author, branch, subject, actions.split()))
    return commits


def stamp(who, date, zone, hours=0):
    """A person and a time as fast-import wants them."""
    at = datetime.fromisoformat(date) + timedelta(hours=hours)
    sign = -1 if zone[0] == "-" else 1
    seconds = (at - datetime(1970, 1, 1)) // timedelta(seconds=1)
    seconds -= sign * (int(zone[1:3]) * 3600 + int(zone[3:5]) * 60)
    name, mail = PEOPLE[who]
    return "%s <%s> %d %s" % (name, mail, seconds, zone)


def fast_import_stream():
    """The whole history as input of `git fast-import`."""
    out = bytearray()

    def text(s):
        out.extend(s.encode() + b"\n")

    def data(s):
        raw = s.encode()
        text("data %d" % len(raw))
        out.extend(raw + b"\n")

    trees, tips = {"main": {}}, {}
    changed = {}  # topic -> the paths it wrote (lines) or removed (None)
    for mark, (date, zone, author, committer, branch, subject, actions) in enumerate(read_history(), 1):
        parent = tips.get(branch, tips.get("main"))
        if branch not in trees:
            trees[branch] = dict(trees["main"])
            changed[branch] = {}
        tree, writes, removes, merged = trees[branch], [], [], None
        for action in actions:
            if actions[0] == "merge":
                break
            w, r = apply(tree, action, date[:10])
            writes += w
            removes += r
        if actions[0] == "merge":
            merged = tips[actions[1]]
            for path, lines in changed[actions[1]].items():
                if lines is None:
                    del tree[path]
                    removes.append(path)
                else:
                    tree[path] = lines
                    writes.append(path)
        if branch != "main":
            changed[branch].update({path: None for path in removes})
            changed[branch].update({path: tree[path] for path in writes})
        text("commit refs/heads/%s" % branch)
        text("mark :%d" % mark)
        text("author " + stamp(author, date, zone))
        text("committer " + stamp(committer, date, zone, 3 if committer != author else 0))
        data(subject + "\n")
        if parent:
            text("from :%d" % parent)
        if merged:
            text("merge :%d" % merged)
        for path in removes:
            text("D " + path)
        for path in writes:
            text("M 100644 inline " + path)
            data("".join(line + "\n" for line in tree[path]))
        text("")
        tips[branch] = mark
    return bytes(out)


def git_environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull, LC_ALL="C")
    return env


def build_history(repo):
    """Builds the repository in a folder that is not there yet, or checks the one that is."""
    env = git_environment()
    if not os.path.isdir(os.path.join(repo, ".git")):
        subprocess.run(["git", "init", "-q", "--object-format=sha1", "-b", "main", repo], check=True, env=env)
        subprocess.run(["git", "-C", repo, "fast-import", "--quiet"], input=fast_import_stream(), check=True, env=env)
    head = subprocess.run(["git", "-C", repo, "rev-parse", "main"], check=True, env=env, capture_output=True, text=True)
    if head.stdout.strip() != HEAD:
        sys.exit("datasets.py: %s is at %s, expected %s" % (repo, head.stdout.strip(), HEAD))


def load(merkhet, store, *arguments):
    """Loads one store, unless it is there."""
    if not os.path.exists(store):
        subprocess.run([merkhet, "ingest", *arguments, "--store", store], check=True, stdout=subprocess.DEVNULL)


def read_list(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return json.load(f)


def write_list(folder, name, tasks):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(tasks, f, ensure_ascii=False, indent=1)


def with_plan(question, plan):
    """A task for the oracle: it may name no identifiers but those in the question."""
    return {**question, "oracle_plan": plan, "input_uids": re.findall(r"\bn[0-9]+\b", question["question"])}


def split_suite(folder):
    """FOLDER/git.json and so on: a run of a suite has one store, so each gets its own questions. git-plans.json has
    those with a plan."""
    questions = read_list("own60.json")
    plans = {entry["id"]: entry["plan"] for entry in read_list("own_plans.json")}
    for dataset in {q["dataset"] for q in questions}:
        asked = [q for q in questions if q["dataset"] == dataset]
        write_list(folder, dataset + ".json", asked)
        write_list(folder, dataset + "-plans.json", [with_plan(q, plans[q["id"]]) for q in asked if q["id"] in plans])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--merkhet")
    options = parser.parse_args()
    folder = options.folder
    os.makedirs(folder, exist_ok=True)
    build_history(os.path.join(folder, "repo"))
    split_suite(folder)
    if not options.merkhet:
        return
    load(options.merkhet, os.path.join(folder, "git"), os.path.join(folder, "repo"), "--format", "git")
    graphs = os.path.join(os.environ.get("MK_SHARED_DATA", SHARED), "graphs")
    if not os.path.isdir(graphs):
        print("skipped: %s is not there, so only the git history was loaded" % graphs)
        return
    load(options.merkhet, os.path.join(folder, "bitcoinotc"), os.path.join(graphs, "soc-sign-bitcoinotc.csv.gz"),
         "--preset", "bitcoinotc")
    load(options.merkhet, os.path.join(folder, "icews14"), os.path.join(graphs, "icews14.tsv.gz"),
         "--no-header", "--map", "src=1,rel_type=2,dst=3,vt_s=4")


if __name__ == "__main__":
    main()
