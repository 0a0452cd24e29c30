#!/bin/bash
# The registry on Merkhet and on its peers, in one run: tools/peers/registry.sh SCALE [FOLDER]
#
#   SYSTEMS   which peers, default "tgms-native tgms-duckdb duckdb postgres"; one that is not installed is left
#             out, and a line says so
#   PYTHON    an interpreter with the peers' packages: pip install tgms duckdb psycopg2-binary
#   PG_BIN    PostgreSQL's programs, default the newest below /usr/lib/postgresql
#
# FOLDER keeps what was loaded, for the next run; without it everything is removed at the end, and PostgreSQL's
# data always are. Prints the JSON lines of all systems, then a table of how many times longer each peer takes. A
# cell counts only when the answers are the same.
set -eu
scale=$1
here=$(cd "$(dirname "$0")" && pwd)
merkhet=${MK_PROGRAM:-$here/../../build/merkhet}
merkhet=$(realpath "$merkhet")
python=$(command -v "${PYTHON:-python3}")
systems=${SYSTEMS-tgms-native tgms-duckdb duckdb postgres}
export PYTHONDONTWRITEBYTECODE=1
server=
own=
if [ $# -gt 1 ]; then work=$2; else work=$(mktemp -d) && own=$work; fi

# PostgreSQL refuses to run for root: then it runs for the account that its package made.
as_server() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

clean() {
    if [ -n "$server" ]; then
        as_server "$pg_bin/pg_ctl" -D "$server/data" -m immediate stop >/dev/null 2>&1 || true
        rm -rf "$server"
    fi
    [ -z "$own" ] || rm -rf "$own"
}
trap clean EXIT

has() { "$python" -c "import $1" 2>/dev/null; }
leave_out() { echo "$1 is left out: $2" >&2; }

run_tgms() { # ENGINE
    has tgms || { leave_out "tgms-$1" "no package tgms"; return 0; }
    if [ ! -d "tgms-$1" ]; then
        "$(dirname "$python")/tgms" replay log.jsonl --store part --backend "$1" >/dev/null 2>replay.err || {
            leave_out "tgms-$1" "$(tail -n 1 replay.err)"
            rm -rf part
            return 0
        }
        mv part "tgms-$1"
    fi
    "$python" "$here/tgms_registry.py" "tgms-$1" "tgms-$1" "$scale" <queries | tee "tgms-$1.jsonl"
}

run_duckdb() {
    has duckdb || { leave_out duckdb "no package duckdb"; return 0; }
    MERKHET_ROWS=merkhet.jsonl "$python" "$here/sql_registry.py" duckdb duckdb.db log.jsonl "$scale" <queries |
        tee duckdb.jsonl
}

start_postgres() {
    local settings="-c listen_addresses= -c shared_buffers=2GB -c work_mem=128MB -c maintenance_work_mem=1GB"
    settings+=" -c max_wal_size=8GB -c random_page_cost=1.1 -c jit=off"
    server=$(mktemp -d)
    chmod 755 "$server"
    [ "$(id -u)" != 0 ] || chown postgres "$server"
    as_server "$pg_bin/initdb" -D "$server/data" -A trust -U postgres --locale=C -E UTF8 >/dev/null
    as_server "$pg_bin/pg_ctl" -D "$server/data" -w -l "$server/said" \
        -o "-k $server $settings" start >/dev/null
}

run_postgres() {
    pg_bin=${PG_BIN:-$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)}
    [ -x "$pg_bin/initdb" ] || { leave_out postgres "no initdb"; return 0; }
    has psycopg2 || { leave_out postgres "no package psycopg2"; return 0; }
    start_postgres || { leave_out postgres "it does not start"; return 0; }
    MERKHET_ROWS=merkhet.jsonl "$python" "$here/sql_registry.py" postgres \
        "host=$server user=postgres dbname=postgres" log.jsonl "$scale" <queries | tee postgres.jsonl
}

mkdir -p "$work"
cd "$work"
"$merkhet" bench registry --scale "$scale" --queries >queries
[ -f log.jsonl ] || "$merkhet" synth registry -n "$scale" -o log.jsonl >/dev/null
"$merkhet" bench registry --scale "$scale" --json | tee merkhet.jsonl
for system in $systems; do
    rm -f "$system.jsonl"
    case $system in
    tgms-*) run_tgms "${system#tgms-}" ;;
    duckdb | postgres) "run_$system" ;;
    *) echo "no peer is called $system" >&2; exit 2 ;;
    esac
done
"$python" "$here/compare.py" merkhet $systems
