#!/bin/bash
# The HTTP server under load, with wrk: bench/serve_load.sh [STORE]
#
#   TIME       seconds of one round, default 10
#   ROUNDS     rounds of each kind, default 5
#   REQUESTS   of the run that looks at memory, default 1000000
#   THINK      milliseconds that an agent thinks between two calls, on average, default 20
#
# Three questions. How many histories of one entity a second, and how late is the slowest in a hundred, at 64
# connections kept alive? What does memory grow by between 10,000 requests and the last? And do 64 agents over mixed operators
# notice that another process writes 1,000 operations a second, a hundred at a time? For the last one rounds with and without the
# writer take turns, since a machine has slow and fast phases, and both numbers are medians over the rounds.
#
# STORE is copied. Without one CollegeMsg is loaded from MK_SHARED_DATA. Prints a line of key=value for each round, then the
# results beside their bars. Exit 1 when a request failed; a bar that is missed is only said.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
merkhet=$(realpath "${MK_PROGRAM:-$here/build/merkhet}")
time=${TIME:-10} rounds=${ROUNDS:-5} requests=${REQUESTS:-1000000} think=${THINK:-20}
json='Content-Type: application/json'
if ! command -v wrk >/dev/null; then
    echo "wrk is not there: apt-get install wrk" >&2
    exit 1
fi
work=$(mktemp -d)
reader= writer= feeder=
clean() {
    for pid in $feeder $writer $reader; do kill "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap clean EXIT
[ $# -eq 0 ] || cp -r "$1" "$work/store"
cd "$work" || exit 1
if [ $# -eq 0 ]; then
    "$merkhet" replay "${MK_SHARED_DATA:?a store, or MK_SHARED_DATA}/frozen/collegemsg.eventlog.jsonl.gz" --store store >/dev/null || exit 1
fi

# ---- what wrk sends; its last line is one of ours

cat >report.lua <<'E2'
-- Counts are wrk's; latencies from sending a request to its answer's last byte, in milliseconds.
function report(name)
    return function(summary, latency)
        local e = summary.errors
        io.write(string.format("%s requests=%d seconds=%.2f rate=%.0f p50=%.3f p99=%.3f max=%.3f failed=%d\n", name, summary.requests,
            summary.duration / 1e6, summary.requests / summary.duration * 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3,
            e.connect + e.read + e.write + e.status + e.timeout))
    end
end
E2
cat >history.lua <<'E2'
require("report")
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local n = 0
function request()
    n = n + 1
    return wrk.format(nil, "/api/ops/entity_history", nil, '{"uid":"n' .. (n * 7) % 1899 + 1 .. '"}')
end
done = report("history")
E2
cat >agents.lua <<'E2'
require("report")
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local day, first = 86400000000, 1082040961000000
local function who() return '"n' .. math.random(1899) .. '"' end
local function window(days)
    local a = first + math.random(0, 190 - days) * day
    return string.format('{"t_a":%d,"t_b":%d}', a, a + days * day)
end
local kinds = {
    { "entity_history", function() return '{"uid":' .. who() .. '}' end },
    { "entity_history", function() return '{"include_edges":true,"limit":20,"uid":' .. who() .. '}' end },
    { "resolve_entities", function() return '{"limit":10,"query":"n' .. math.random(99) .. '"}' end },
    { "snapshot_subgraph", function() return string.format('{"hops":1,"seeds":[%s],"t_valid":%d}', who(), first + math.random(190) * day) end },
    { "aggregate_events", function() return '{"aggregates":[{"agg":"count"}],"group_by":[{"dim":"rel_type"}],"window":' .. window(3) .. '}' end },
    { "temporal_reachability", function() return '{"limit":20,"src":' .. who() .. ',"window":' .. window(2) .. '}' end },
    { "neighborhood_evolution", function() return string.format('{"t1":%d,"t2":%d,"uid":%s}', first, first + math.random(190) * day, who()) end },
    { "graph_metric_timeseries", function() return '{"metric":"edge_event_count","stride":' .. day .. ',"window":' .. window(20) .. '}' end },
    { "diff_snapshots", function() local t = first + math.random(100) * day; return string.format('{"limit":20,"t1":%d,"t2":%d}', t, t + 3600000000) end },
}
local think, only, seen
function init(args)
    think, only = tonumber(args[1]), tonumber(args[2])
    math.randomseed(tonumber(tostring({}):match("0x(%x+)"), 16) % 1000003)
end
function delay() return math.random(0, 2 * think) end
function request()
    local kind = kinds[only or math.random(#kinds)]
    return wrk.format(nil, "/api/ops/" .. kind[1], nil, kind[2]())
end
-- What was refused is said once, for whoever reads the log.
function response(status, headers, body)
    if status ~= 200 and not seen then
        seen = true
        io.stderr:write(status, " ", body, "\n")
    end
end
done = report("agents")
E2
load() { # THREADS SECONDS SCRIPT [ARGUMENTS...]
    local threads=$1 seconds=$2 script=$3; shift 3
    LUA_PATH="$work/?.lua" wrk -t"$threads" -c64 -d"${seconds}s" --timeout 10s -s "$script" "$base/" -- "$@" | grep ' requests='
}
number() { sed -n "s/.* $1=\([0-9.]*\).*/\1/p"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$reader/status"; } # KiB
failed=0
count_failed() { failed=$((failed + $(number failed | awk '{ s += $1 } END { print s + 0 }'))); }

await() { for _ in $(seq 500); do [ -s "$1" ] && return; sleep 0.01; done; echo "no server" >&2; exit 1; }
"$merkhet" serve --store store --port 0 --port-file reader.port 2>reader.err &
reader=$!
await reader.port
base=http://127.0.0.1:$(cat reader.port)

# ---- histories, and memory

load 1 1 history.lua >/dev/null
for _ in $(seq "$rounds"); do load 1 "$time" history.lua; done | tee histories
count_failed <histories
kill -TERM $reader
wait $reader
rm reader.port
"$merkhet" serve --store store --port 0 --port-file reader.port 2>reader.err &
reader=$!
await reader.port
base=http://127.0.0.1:$(cat reader.port)
sent=0 few=
while [ "$sent" -lt "$requests" ]; do # wrk counts seconds and not requests
    load 1 "$([ -n "$few" ] && echo 5 || echo 1)" history.lua >one
    sent=$((sent + $(number requests <one)))
    count_failed <one
    if [ -z "$few" ] && [ "$sent" -ge 10000 ]; then few=$(resident) few_sent=$sent; fi
done
echo "memory after=$few_sent kib=$few then=$sent kib_then=$(resident)"
grown=$(($(resident) - few))

# ---- agents, with and without a writer

"$merkhet" serve --store store --port 0 --port-file writer.port --write 2>writer.err &
writer=$!
await writer.port
# feed SECONDS: ten batches of a hundred edges each second on one connection; says how many were committed
feed() {
    local text i end=$((${EPOCHREALTIME/./} + $1 * 1000000)) next=${EPOCHREALTIME/./} done=0 line size
    exec 8<>"/dev/tcp/127.0.0.1/$(cat writer.port)"
    while [ "$next" -lt "$end" ]; do
        text=
        for ((i = 0; i < 100; i++)); do
            vt=$((next + i))
            text+=",{\"op\":\"assert_edge\",\"src\":\"n$((RANDOM % 1899 + 1))\",\"rel_type\":\"MSG\",\"dst\":\"n$((RANDOM % 1899 + 1))\",\"vt_s\":$vt,\"vt_e\":$((vt + 1))}"
        done
        text="{\"ops\":[${text#,}]}"
        printf 'POST /api/write HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\nContent-Length: %d\r\n\r\n%s' "$json" ${#text} "$text" >&8
        size=0
        read -r line <&8
        case $line in *' 200 '*) done=$((done + 100)) ;; *) echo "the writer was told $line" >&2 ;; esac
        while read -r line <&8 && [ "$line" != $'\r' ]; do
            case $line in [Cc]ontent-[Ll]ength:*) size=${line#*: } size=${size%$'\r'} ;; esac
        done
        IFS= read -r -N "$size" line <&8
        next=$((next + 100000))
        i=$((next - ${EPOCHREALTIME/./}))
        [ $i -le 0 ] || sleep "$(printf '0.%06d' $i)"
    done
    exec 8>&-
    echo "writer operations=$done"
}
load 1 2 agents.lua "$think" >/dev/null
for _ in $(seq "$rounds"); do
    load 1 "$time" agents.lua "$think" | tee -a idle
    feed "$time" >fed &
    feeder=$!
    load 1 "$time" agents.lua "$think" | sed 's/$/ writing=1/' | tee -a busy
    wait $feeder
    feeder=
    cat fed
    cat fed >>written
done
count_failed <idle
count_failed <busy

# ---- results

rate=$(number rate <histories | median) p99=$(number p99 <histories | median)
quiet=$(number p50 <idle | median) writing=$(number p50 <busy | median)
told=$(number operations <written | awk '{ s += $1 } END { print s + 0 }')
awk -v rate="$rate" -v p99="$p99" -v grown="$grown" -v quiet="$quiet" -v writing="$writing" -v told="$told" -v time=$((time * rounds)) -v failed="$failed" '
    function row(name, value, bar, good) { printf "%-58s %12s  %-10s %s\n", name, value, bar, good ? "" : "MISSED" }
    BEGIN {
        row("histories a second, 64 connections", rate, ">= 20000", rate >= 20000)
        row("the slowest in a hundred, ms", p99, "< 5", p99 < 5)
        row("memory grown between 10,000 requests and the last, KiB", grown, "<= 1024", grown <= 1024)
        row("operations written a second meanwhile", sprintf("%.0f", told / time), ">= 950", told / time >= 950)
        row("agents: median without a writer, ms", quiet, "", 1)
        row("agents: median beside it, ms", writing, "", 1)
        row("ratio", sprintf("%.3f", writing / quiet), "<= 1.1", writing / quiet <= 1.1)
        row("requests that failed", failed, "0", failed == 0)
        exit failed != 0
    }'
