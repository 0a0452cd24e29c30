#!/bin/bash
# What clients are configured with: every entry is read by a parser of its format, and what it names is started, or reached;
# server.json is what the registry takes.
. "$(dirname "$0")/lib.sh"
if ! python3 -c 'import tomllib' 2>/dev/null; then
    skip "python3 with tomllib is not there"
    finish
fi
cat >entry.py <<'P'
"""Reads a configuration on standard input. With "command" prints the words of the command, a line each, else the address."""
import json, sys, tomllib
client, what = sys.argv[1:]
text = sys.stdin.read()
config = tomllib.loads(text) if client == "codex" else json.loads(text)
key = {"vscode": "servers", "codex": "mcp_servers", "zed": "context_servers"}.get(client, "mcpServers")
assert list(config) == [key] and list(config[key]) == ["merkhet"], config
entry = config[key]["merkhet"]
if what == "command":
    known = {"command", "args"} | ({"env"} if client != "codex" else set()) | ({"type"} if client == "vscode" else set())
    assert set(entry) == known, entry
    assert client != "vscode" or entry["type"] == "stdio"
    assert client == "codex" or entry["env"] == {}
    print("\n".join([entry["command"], *entry["args"]]))
else:
    url = "httpUrl" if client == "gemini-cli" else "url"
    assert set(entry) == ({url} if client in ("gemini-cli", "codex") else {"type", url}), entry
    assert entry.get("type", "http") == "http"
    print(entry[url])
P
ping='{"jsonrpc":"2.0","id":1,"method":"ping"}'
pong='{"jsonrpc":"2.0","id":1,"result":{}}'
clients="claude-desktop claude-code cursor windsurf gemini-cli lm-studio copilot-cli vscode codex zed"
"$merkhet" init --store s >/dev/null
mkdir 'a "quoted" folder'

# start CLIENT OPTIONS...: what the entry's command answers to a ping, from another folder
start() {
    local client=$1 words; shift
    "$merkhet" mcp "$@" --print-config "$client" | python3 entry.py "$client" command >words || return
    mapfile -t words <words
    (cd / && printf '%s\n' "$ping" | "${words[@]}")
}
for client in $clients; do
    is "the command of $client starts" "$(start $client --store s)" "$pong"
    is "with a path that has to be quoted" "$(start $client --store 'a "quoted" folder/s')" "$pong"
done
start codex --store s --write --principal user:eve --tools graph_assert,compute --time-format iso --max-result-bytes 64000 --show notes >/dev/null
is "what was said beside it holds for the command" "$(tail -n +5 words | tr '\n' ' ')" \
    "--tools graph_assert,compute --time-format iso --max-result-bytes 64000 --principal user:eve --show notes --write "
mapfile -t words <words
is "which has these tools then" "$(printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' | "${words[@]}" | grep -o '"name":"[a-z_]*","title"' | tr '\n' ' ')" \
    '"name":"compute","title" "name":"graph_assert","title" '

# ---- a server that runs
"$merkhet" serve --store s --port 0 --port-file port 2>/dev/null &
pid=$!
for _ in $(seq 250); do [ -s port ] && break; sleep 0.02; done
base=http://127.0.0.1:$(cat port)
init='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
for client in $clients; do
    url=$("$merkhet" mcp --print-config $client --http "$base/mcp" | python3 entry.py $client url)
    contains "the address of $client is answered" "$(curl -s -X POST "$url" -H 'Content-Type: application/json' -d "$init")" '"serverInfo":{"name":"merkhet"'
done
for given in "$base" "$base/"; do
    is "the server's address alone means /mcp" "$("$merkhet" mcp --print-config vscode --http "$given" | python3 entry.py vscode url)" "$base/mcp"
done
kill -TERM $pid; wait $pid
for bad in ftp://x/mcp http:// http:///mcp 'http://a b/mcp' 127.0.0.1:8765 ''; do
    refuses "no address: '$bad'" 2 "is no address" "$merkhet" mcp --print-config zed --http "$bad"
done
refuses "an address without a client" 2 "goes with --print-config" "$merkhet" mcp --store s --http "$base/mcp"
refuses "an unknown client" 2 "did you mean cursor" "$merkhet" mcp --store s --print-config cursr

# ---- the registry's entry: what its schema of 2025-12-11 asks of these members
cat >registry.py <<'P'
import json, re, sys
d = json.load(open(sys.argv[1]))
assert d["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
assert {"name", "description", "version"} <= set(d) <= {"$schema", "name", "title", "description", "version", "packages", "repository", "websiteUrl", "icons"}, set(d)
assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", d["name"]) and 3 <= len(d["name"]) <= 200
assert 1 <= len(d["description"]) <= 100 and 1 <= len(d["title"]) <= 100
for p in d.get("packages", []):
    assert p["registryType"] in ("mcpb", "oci") and p["transport"] == {"type": "stdio"}
    assert p["registryType"] != "mcpb" or ("mcp" in p["identifier"] and re.fullmatch(r"[a-f0-9]{64}", p["fileSha256"]))
print(d["version"])
P
is "server.json is what the registry takes, of this version" "$(python3 registry.py "$repo/server.json")" "$("$merkhet" --version | grep -o '[0-9][0-9.]*' | head -n 1)"
finish
