#!/bin/bash
# The official conformance suites of the Model Context Protocol: every scenario against the fixture program, which has the
# tools they call by name, and those that need none of them against the program itself. A scenario counts when it is
# green and has looked at something; what is optional and not ours (tasks) is not asked for. Source: serving spec, 12.
. "$(dirname "$0")/lib.sh"
. "$repo/tests/e2e/node/lib.sh"

fixture=${MK_BUILD:-$repo/build}/asan/tests/e2e/mcp_fixture
if [ ! -x "$fixture" ]; then
    skip "the fixture program is not built: $fixture"
    finish
fi

# wait_port FILE: the port that a server wrote there
wait_port() {
    for _ in $(seq 250); do [ -s "$1" ] && break; sleep 0.02; done
    cat "$1"
}

# suite NAME PACKAGE PORT ARGUMENTS...: one run; then `passes NAME SCENARIO...` looks at its summary
suite() {
    local name=$1 package=$2 port=$3; shift 3
    (cd "$work" && timeout 100 "$node" "$node_modules/$package/dist/index.js" server \
        --url "http://127.0.0.1:$port/mcp" -o "out_$name" "$@" >"$work/$name.log" 2>&1)
}
passes() {
    local name=$1 scenario line; shift
    for scenario in "$@"; do
        line=$(grep -E "^[^ ]+ $scenario: [0-9]+ passed, [0-9]+ failed" "$work/$name.log" | tail -n 1)
        case $line in
        *": 0 passed, "*) not_ok "$name: $scenario" "it looked at nothing" ;;
        "✓ "*", 0 failed"*) ok "$name: $scenario" ;;
        *) not_ok "$name: $scenario" "${line:-it did not run}
$(said_of "$name" "$scenario")" ;;
        esac
    done
}
# What a scenario's checks complain about.
said_of() {
    cat "$work/out_$1/"server-"$2"-*/checks.json 2>/dev/null | "$node" -e '
        let text = ""; process.stdin.on("data", (d) => text += d).on("end", () => {
            for (const c of JSON.parse(text)) if (c.status === "FAILURE") console.log(c.id, c.errorMessage ?? ""); })' 2>&1
}

calls="tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content
    tools-call-error tools-call-with-progress"
reads="resources-list resources-read-text resources-read-binary resources-templates-read"
prompts="prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image"
sessions="server-initialize logging-set-level ping completion-complete tools-list $calls tools-call-with-logging
    tools-call-sampling tools-call-elicitation elicitation-sep1034-defaults elicitation-sep1330-enums
    server-sse-multiple-streams $reads resources-subscribe resources-unsubscribe $prompts dns-rebinding-protection"
asks=
for one in basic-elicitation basic-sampling basic-list-roots request-state multiple-input-requests multi-round \
    missing-input-response non-tool-request result-type unsupported-methods tampered-state capability-check \
    ignore-extra-params validate-input; do
    asks="$asks input-required-result-$one"
done
modern="server-stateless completion-complete tools-list $calls server-sse-multiple-streams $reads
    sep-2164-resource-not-found $prompts dns-rebinding-protection caching $asks"

# shellcheck disable=SC2086
all_of_them() {
    is "30 scenarios of sessions, 37 that are modern" "$(echo $sessions | wc -w) $(echo $modern | wc -w)" "30 37"
    "$fixture" http "$work/port" 2>"$work/fixture_err" &
    local pid=$! port
    port=$(wait_port "$work/port")
    suite stable conformance-stable "$port"
    passes stable $sessions
    suite sessions conformance-next "$port" --requirements 2025-11-25
    passes sessions $sessions server-session-lifecycle json-schema-2020-12 server-sse-polling
    suite modern conformance-next "$port" --requirements 2026-07-28
    passes modern $modern json-schema-2020-12 http-header-validation http-custom-header-server-validation
    kill -TERM $pid
    wait $pid
    is "the fixture ends well, and the sanitizers found nothing" "$? $(cat "$work/fixture_err")" "0 "
}
all_of_them

# shellcheck disable=SC2016
printf '{"op":"assert_node","uid":"ada","label":"Person","vt_s":10}\n' >one.jsonl
works "a store" bash -c "'$merkhet' init --store s && '$merkhet' assert --store s - <one.jsonl"
"$merkhet" serve --store s --port 0 --port-file served 2>served_err &
pid=$!
port=$(wait_port served)
suite program_sessions conformance-next "$port" --requirements 2025-11-25
passes program_sessions server-initialize ping logging-set-level tools-list resources-list prompts-list \
    server-sse-multiple-streams dns-rebinding-protection server-session-lifecycle
suite program_modern conformance-next "$port" --requirements 2026-07-28
passes program_modern tools-list resources-list prompts-list sep-2164-resource-not-found caching http-header-validation \
    dns-rebinding-protection
kill -TERM $pid
wait $pid
is "the program ends well" "$? $(tail -n 1 served_err)" "0 ending: signal 15 of process $$"
finish
