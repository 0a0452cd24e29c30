// Answers that the server keeps: listed, opened, saved as bundles.
import { el, put, facts, when, plain, download } from "./dom.js";
import { get, failed } from "./api.js";
import { ErrorCard } from "./errors.js";
import { load, stepsOf, gaps, claims } from "./evidence.js";
import { table } from "./table.js";

export function view(app) {
  const state = app.state(), list = el("div"), out = el("div", { "aria-live": "polite" });
  async function open(id) {
    app.remember({ id });
    const bundle = await load(id);
    put(out, bundle ? Trace(id, bundle) : el("div", { class: "card error" }, "This trace has left the server's table: it holds the newest. Ask the question again; the same belief gives the same digest."));
  }
  async function start() {
    const kept = await get("/api/traces");
    if (failed(kept)) { put(list, ErrorCard(kept)); return; }
    if (kept.traces.length === 0) put(list, el("div", { class: "card note" }, "No answers yet. ", el("a", { href: "#ask" }, "Ask something.")));
    else put(list, table(kept.traces, { columns: ["question", "text", "claims", "as_of_tt", "id"], caption: "the newest first; Enter opens one", onrow: (row) => open(row.id) }));
    if (state.id) open(state.id);
  }
  start();
  return { node: el("section", null, el("h1", null, "Traces"), el("p", { class: "lead" }, "Every answer is kept with the plan that made it, each call with its arguments and its result by content, so that anybody can check it again: here, or with merkhet verify and no store at all."), list, out), focus: () => list.querySelector("[tabindex]")?.focus() };
}

function Trace(id, bundle) {
  const b = bundle.tree, steps = stepsOf(b), verdicts = new Map((b.report?.claims ?? []).map((c) => [c.id, c]));
  const rated = (b.answer?.claims ?? []).map((c) => ({ ...c, verdict: verdicts.get(c.id)?.verdict ?? "unverifiable" }));
  return el("div", { class: "card" }, el("h2", null, b.question), el("p", { class: "answer" }, b.answer?.text ?? ""),
    facts([["believed at", [when(b.as_of_tt?.raw ?? b.as_of_tt), " ", el("span", { class: "us" }, plain(b.as_of_tt))]], ["trace", el("code", null, id)], ["root of the bundle", el("code", null, b.digests?.root ?? "")],
      ["made with", el("code", null, plain(b.versions))]]),
    el("div", { class: "row" }, el("button", { type: "button", class: "main", id: "save", onclick: () => download(`merkhet-${id.slice(0, 16)}.json`, bundle.text) }, "Save the bundle"), el("a", { href: "#tamper?id=" + id }, "tamper with it")),
    el("h3", null, "Claims"), claims(rated, id), el("h3", null, "Steps"),
    steps.map((s) => el("details", { class: "step" }, el("summary", null, `${s.step_id ?? s.id}: ${s.call?.op ?? s.op} `, s.status === "ok" ? null : el("span", { class: "status refused" }, String(s.status)), " ", gaps(s.completeness ?? s.call?.completeness)),
      facts([["result", el("code", null, s.result_digest)], ["call", el("code", null, s.call_digest)]]), el("pre", null, JSON.stringify(JSON.parse(plain(s.call?.args ?? {})), null, 2)),
      Array.isArray(s.payload?.rows) ? table(s.payload.rows, { caption: `${s.payload.rows.length} rows` }) : el("pre", null, plain(s.payload ?? null, 2)))));
}
