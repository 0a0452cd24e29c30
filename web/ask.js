// A question in, a checked answer out.
import { el, put, facts, when, timeOf, plain } from "./dom.js";
import { post, failed } from "./api.js";
import { claims } from "./evidence.js";
import { ErrorCard } from "./errors.js";

export function view(app) {
  const question = el("input", { class: "big", id: "question", autocomplete: "off", maxlength: 4000, placeholder: app.info?.examples?.[1] ?? "Ask about this store" });
  const belief = el("input", { id: "ask-belief", placeholder: "now", autocomplete: "off" });
  const out = el("div", { "aria-live": "polite", id: "answer" });
  const go = el("button", { class: "main big", type: "submit" }, "Ask");
  let running = null;

  async function ask(text) {
    if (text.trim() === "") { question.focus(); return; }
    question.value = text;
    running?.abort();
    running = new AbortController();
    go.disabled = true;
    put(out, el("p", { class: "small" }, "planning, running, checking …"));
    const tt = timeOf(belief.value);
    app.remember({ q: text, tt: belief.value });
    const result = await post("/api/ask", { question: text, as_of_tt: tt }, running.signal);
    go.disabled = false;
    put(out, failed(result) ? ErrorCard(result) : Answer(result, ask, app));
  }

  const form = el("form", { onsubmit: (e) => { e.preventDefault(); ask(question.value); } },
    el("div", { class: "row" }, el("label", { class: "grow" }, "Question", question),
      el("label", null, "Believed at (transaction time)", belief), go));
  const node = el("section", null, el("h1", null, "Ask"),
    el("p", { class: "lead" }, "The question becomes a plan of operator calls; the plan is checked and run at one belief; every claim is looked up in the results before it is shown. What cannot be answered is said to be missing."),
    form, examples(app.info?.examples ?? [], ask), out, ExplainDiff(app, question));
  const state = app.state();
  if (state.tt) belief.value = state.tt;
  if (state.q) ask(state.q);
  return { node, focus: () => question.focus() };
}

const examples = (list, ask) => list.length === 0 ? null
  : el("ul", { class: "chips", "aria-label": "Questions that this store can answer" }, list.map((q) => el("li", null, el("button", { type: "button", onclick: () => ask(q) }, q))));

export function Answer(r, ask, app) {
  const complete = r.complete ? el("span", { class: "status supported" }, "✓ complete") : el("span", { class: "status" }, "≈ rests on incomplete results");
  if (r.abstained || r.answer === null) {
    return el("div", { class: "card note" }, el("p", { class: "answer" }, "No answer."),
      facts([r.understood ? ["understood", r.understood] : null, ["missing", el("ul", { class: "chips" }, r.missing.map((m) => el("li", null, m)))],
        r.candidates?.length ? ["could be", el("ul", { class: "chips" }, r.candidates.slice(0, 20).map((c) => el("li", null, el("code", null, c))))] : null]),
      r.examples?.length ? [el("p", { class: "small" }, "Questions that this store can answer:"), examples(r.examples, ask)] : null);
  }
  return el("div", { class: "card" }, el("p", { class: "answer" }, r.answer.text),
    facts([["understood as", r.understood], ["believed at", [when(r.as_of_tt), " ", el("span", { class: "us" }, plain(r.as_of_tt))]], ["planner", r.planner], ["evidence", complete]]),
    el("h3", null, "Claims"), claims(r.claims, r.trace),
    r.dropped?.length ? el("p", { class: "small" }, `${r.dropped.length} claims were dropped, because nothing supports them.`) : null,
    el("p", { class: "row small" }, el("a", { href: "#traces?id=" + r.trace }, "the whole trace"), el("a", { href: "#tamper?id=" + r.trace }, "try to change it unnoticed"),
      el("a", { href: "/api/traces/" + r.trace + "?download", download: "" }, "save as a bundle")));
}

function ExplainDiff(app, question) {
  const before = el("input", { placeholder: "transaction time", autocomplete: "off" }), after = el("input", { placeholder: "now", autocomplete: "off" });
  const out = el("div", { "aria-live": "polite" });
  async function go(e) {
    e.preventDefault();
    put(out, el("p", { class: "small" }, "asking twice, and looking for what lies between …"));
    const result = await post("/api/explain_diff", { question: question.value, tt_before: timeOf(before.value) ?? 0, tt_after: timeOf(after.value) });
    put(out, failed(result) ? ErrorCard(result) : Difference(result));
  }
  return el("details", { class: "card", id: "explain" }, el("summary", null, "What does the same question say at two beliefs, and what changed it?"),
    el("form", { onsubmit: go }, el("div", { class: "row" }, el("label", { class: "grow" }, "Believed at", before), el("label", { class: "grow" }, "and at", after), el("button", { type: "submit" }, "Compare"))), out);
}

function Difference(d) {
  const said = (r) => (r.answer ? r.answer.text : "no answer");
  return el("div", null, facts([[`at ${when(d.before.as_of_tt)}`, said(d.before)], [`at ${when(d.after.as_of_tt)}`, said(d.after)]]),
    el("p", null, el("span", { class: d.changed ? "status" : "status supported" }, d.changed ? "≠ changed" : "= the same"), d.changed ? " The answer is another at the second belief." : " The answer is the same at both beliefs."),
    (d.causes ?? []).map((c) => el("div", { class: "card" }, el("p", null, `Changed by what was written at ${when(c.tt)} `, el("span", { class: "us" }, plain(c.tt))),
      el("pre", null, (c.ops ?? []).map((o) => (typeof o === "string" ? o : plain(o))).join("\n")))));
}
