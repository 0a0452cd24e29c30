#!/bin/bash
# Questions in words: answers with evidence, abstentions, beliefs, bundles, the page, the demonstration. Which
# questions a store can answer it says itself, so that nothing here depends on the planner's grammar.
. "$(dirname "$0")/lib.sh"
unset MERKHET_LLM_URL MERKHET_LLM_MODEL MERKHET_LLM_KEY

cat >team.jsonl <<'OPS'
{"op":"assert_node","uid":"ada","label":"Person","props":{"role":"analyst"},"vt_s":"2024-01-01"}
{"op":"assert_node","uid":"bob<script>alert(1)</script>","label":"Person","props":{"role":"clerk"},"vt_s":"2024-01-01"}
{"op":"ingest_events","events":[{"src":"ada","dst":"bob<script>alert(1)</script>","rel_type":"MESSAGE","vt_s":"2024-05-02T09:00:00Z"},{"src":"ada","dst":"cy","rel_type":"MESSAGE","vt_s":"2024-05-06T10:30:00Z"},{"src":"cy","dst":"ada","rel_type":"MESSAGE","vt_s":"2024-05-17T16:00:00Z"}]}
OPS
"$merkhet" ingest team.jsonl --store s >/dev/null
export MERKHET_STORE=$work/s
member() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; } # a number or word in JSON

# --- what can be asked ---------------------------------------------------------------------------

"$merkhet" ask | sed -n 's/^  //p' >questions
is "ask alone lists five questions" "$(wc -l <questions)" 5
"$merkhet" ask --json >questions.json
is "and as JSON" "$(grep -o '","' questions.json | wc -l)" 4
while IFS= read -r question; do
    works "the store answers: $question" "$merkhet" ask "$question"
done <questions
question=$(head -n 1 questions)
refuses "an option that needs a question" 2 "there is no question" "$merkhet" ask --html x.html
refuses "an unknown planner" 2 "auto, model or offline" "$merkhet" ask "$question" --planner oracle
refuses "an empty question" 1 E_INVALID_ARG "$merkhet" ask ""

# --- an answer -----------------------------------------------------------------------------------

"$merkhet" ask "$question" --json >answer.json
is "an answer is not an abstention" "$(member abstained <answer.json)" false
is "the offline planner made it" "$(member planner <answer.json)" offline
contains "its claims stand" "$(cat answer.json)" '"verdict":"supported"'
is "the same question gives the same bytes" "$("$merkhet" ask "$question" --json)" "$(cat answer.json)"
contains "people see belief time and evidence" "$("$merkhet" ask "$question")" "believed at"
works "the trace is kept" test -f s/trace/1.run
kept=$(ls s/trace/*.run | wc -l)
"$merkhet" ask "$question" --no-trace >/dev/null
is "or not" "$(ls s/trace/*.run | wc -l)" "$kept"

# --- a model that is not there -------------------------------------------------------------------

refuses "a model that is not configured" 1 E_MODEL "$merkhet" ask "$question" --planner model
away="env MERKHET_LLM_URL=http://127.0.0.1:1/v1 MERKHET_LLM_MODEL=none MERKHET_LLM_RETRIES=0"
# shellcheck disable=SC2086
refuses "a model that is away" 1 E_MODEL $away "$merkhet" ask "$question" --planner model
# shellcheck disable=SC2086
is "without being asked for by name it is done without" "$($away "$merkhet" ask "$question" --json)" "$(cat answer.json)"
contains "and the answer says so" "$("$merkhet" ask "$question")" "no model is configured"

# --- no answer -----------------------------------------------------------------------------------

"$merkhet" ask "Will it rain in Lisbon tomorrow?" --json >none.json 2>none.err
is "an abstention is exit status 1" "$?" 1
is "and no error" "$(cat none.err)" ""
is "it is said to be one" "$(member abstained <none.json)" true
contains "without an answer" "$(cat none.json)" '"answer":null'
is "with five questions that would do" "$("$merkhet" ask 'Will it rain?' | sed -n '/that this store can answer/,$p' | grep -c '^  ')" 5
"$merkhet" ask "$question" --as-of-tt 1000 >early.txt
is "before the first belief there is none" "$?" 1
contains "and the known range is named" "$(cat early.txt)" "beliefs begin at"

# --- bundles -------------------------------------------------------------------------------------

works "the bundle is saved" "$merkhet" ask "$question" --save-bundle b.json
works "it verifies without a store" env -u MERKHET_STORE "$merkhet" verify b.json
contains "the store says the same" "$("$merkhet" replay-bundle b.json)" "the store says the same"
is "as JSON" "$("$merkhet" replay-bundle b.json --json | member same_answer)" true
"$merkhet" correct --node ada --props '{"role":"lead"}' --from 2024-05-01 --to 2024-06-01 >/dev/null
works "and still does after a correction" "$merkhet" replay-bundle b.json
sed 's/"rows_total":\([0-9]*\)/"rows_total":1\1/' b.json >changed.json
"$merkhet" verify changed.json >/dev/null 2>&1
is "a changed bundle is caught" "$?" 1
"$merkhet" replay-bundle changed.json >changed.txt
is "and not replayed" "$?" 1
contains "because it is damaged" "$(cat changed.txt)" "damaged"
echo '{}' >empty.json
refuses "what is no bundle" 1 E_SCHEMA "$merkhet" replay-bundle empty.json
refuses "a bundle that is not there" 1 E_NOT_FOUND "$merkhet" replay-bundle none-such.json

# --- two beliefs ---------------------------------------------------------------------------------

first=$("$merkhet" log show --json | sed -n '1s/.*"tt":\([0-9]*\)}.*/\1/p')
last=$("$merkhet" stats --json | member last_tt)
works "the difference between two beliefs" "$merkhet" ask "$question" --explain-diff "$first" "$last"
contains "as JSON" "$("$merkhet" ask "$question" --explain-diff 1 "$last" --json)" "\"tt\":$first"
refuses "beliefs in the wrong order" 1 "swap the two" "$merkhet" ask "$question" --explain-diff "$last" "$first"
refuses "a belief that is no time" 1 "--explain-diff" "$merkhet" ask "$question" --explain-diff soon later

# --- the page ------------------------------------------------------------------------------------

while IFS= read -r q; do
    n=$((${n:-0} + 1))
    "$merkhet" ask "$q" --html "page$n.html" --save-bundle "page$n.json" >/dev/null
    is "page $n: stored markup is text" "$(grep -c 'alert(1)</script>' "page$n.html")" 0
    is "page $n: nothing is fetched" "$(grep -cE '(src|href)=.?https?:|@import|<link' "page$n.html")" 0
    grep -o 'href="#[^"]*"' "page$n.html" | sed 's/href="#\(.*\)"/\1/' | sort -u >links
    while IFS= read -r link; do
        grep -qF "id=\"$link\"" "page$n.html" || grep -qF "id=$link>" "page$n.html" || echo "$link"
    done <links >lost
    is "page $n: every link leads somewhere" "$(cat lost)" ""
done <questions
"$merkhet" ask "Will it rain?" --html none.html >/dev/null
contains "an abstention has a page too" "$(cat none.html)" "No answer is given."

# The page's own verifier, outside a browser: it agrees with ours, and sees what is changed.
if command -v node >/dev/null; then
    cat >judge.js <<'JS'
const p = require(process.argv[2]), fs = require('fs'), crypto = require('crypto');
for (const n of [0, 55, 56, 64, 119, 1000]) {
  const bytes = Buffer.alloc(n, 'm');
  if (p.sha256(bytes) !== crypto.createHash('sha256').update(bytes).digest('hex')) throw new Error('sha256 of ' + n);
}
for (const file of process.argv.slice(3)) {
  const text = fs.readFileSync(file, 'utf8'), evidence = p.read(text);
  if (evidence.faults.size !== 0) throw new Error(file + ': ' + [...evidence.faults.values()]);
  const claims = evidence.bundle.get('answer').get('claims');
  for (const claim of claims) {
    const [verdict, why] = p.judge(claim, evidence);
    if (verdict === 'unknown') continue;
    if (verdict !== 'supported' && verdict !== 'weakly_supported') throw new Error(file + ': ' + verdict + ', ' + why);
    if (p.falsify(claim) === null) continue;
    const after = p.judge(claim, evidence)[0];
    if (after !== 'unsupported' && after !== 'unverifiable') throw new Error(file + ': a changed claim is ' + after);
  }
  const damaged = p.damage(text, evidence, claims);
  if (damaged !== null && p.read(damaged[0]).faults.size === 0) throw new Error(file + ': damage was not seen');
}
console.log('agreed');
JS
    is "the verifier in the page sees what is changed" "$(node judge.js "$repo/src/agent/page.js" page?.json 2>&1)" agreed
else
    skip "there is no node to run the page's verifier"
fi

# In a browser: the script runs under the page's own policy, and its buttons work.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
dom() { timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --dump-dom "file://$1" 2>/dev/null; }
if [ -n "$browser" ]; then
    contains "a browser verifies the page" "$(dom "$work/page1.html")" "Every call and every result hashes to its name."
    for button in tamper-answer tamper-evidence; do
        { sed '/http-equiv=Content-Security-Policy/d' page1.html
          echo "<script>document.getElementById('$button').click()</script>"; } >"$button.html"
        contains "$button is caught" "$(dom "$work/$button.html")" ">Caught: "
    done
    { cat page1.html; echo "<script>document.title = 'stranger'</script>"; } >stranger.html
    is "the policy lets no other script run" "$(dom "$work/stranger.html" | grep -c '<title>stranger')" 0
else
    skip "there is no browser to open the page"
fi

# --- the story -----------------------------------------------------------------------------------

mkdir tmp
began=$(date +%s)
TMPDIR=$work/tmp "$merkhet" demo graph >story 2>&1
is "the story is told to its end" "$?" 0
[ $failures -eq 0 ] || not_ok "its output" "$(tail -n 20 story)"
contains "a cost is refused" "$(cat story)" E_COST
contains "a correction is explained" "$(cat story)" "changed by"
contains "a changed answer is caught" "$(cat story)" "does not hash"
if [ $(($(date +%s) - began)) -lt 30 ]; then ok "in less than 30 s"; else not_ok "in less than 30 s"; fi
is "nothing is left behind" "$(ls tmp)" ""
finish
