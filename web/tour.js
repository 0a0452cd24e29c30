// A guided tour over this very store.
import { el, put, facts, when, count, plain, day } from "./dom.js";
import { post, op, failed } from "./api.js";
import { ErrorCard } from "./errors.js";
import { Answer } from "./ask.js";
import { series } from "./chart.js";

export function view(app) {
  const card = app.info?.card;
  if (!card) return { node: el("section", null, el("h1", null, "Merkhet"), el("div", { class: "card note" }, app.why ?? "There is no store yet.")), focus: () => {} };
  const node = el("section", null, el("h1", null, "What this store holds"),
    el("p", { class: "lead" }, "Two clocks: valid time says when something was true, transaction time when the store believed it. Every answer here is computed, pinned to one belief, and checked against what it cites."),
    Card(card), el("ol", { class: "steps" }, el("li", null, Shape(card)), el("li", null, Questions(app)), el("li", null, Refusal(card)), el("li", null, Presets(app))));
  return { node, focus: () => {} };
}

function Card(c) {
  const some = (o, n = 12) => { const e = Object.entries(o ?? {}); return e.slice(0, n).map(([k, v]) => `${k} ${count(v)}`).join(" · ") + (e.length > n ? ` · and ${e.length - n} more` : "") || "–"; };
  const names = (o) => Object.entries(o ?? {}).map(([k, v]) => `${k} (${[].concat(v).join(", ")})`).join(" · ") || "–";
  return el("div", { class: "card", id: "card" }, facts([["entities", count(c.entities)], ["versions", `${count(c.node_versions)} of nodes, ${count(c.edge_versions)} of edges`],
    ["valid time", c.valid_time ? `${when(c.valid_time.vt_min)} – ${when(c.valid_time.vt_max)}` : "–"], ["believed", `${count(c.transaction_time?.batches ?? 0)} batches, the last at ${when(c.transaction_time?.last)}`],
    ["kinds of node", some(c.labels)], ["kinds of edge", some(c.relation_types)], ["properties of nodes", names(c.node_properties)], ["properties of edges", names(c.edge_properties)]]));
}

function Shape(c) {
  const place = el("div"), lo = Number(c.valid_time?.vt_min ?? 0), hi = Number(c.valid_time?.vt_max ?? 1);
  op("graph_metric_timeseries", { metric: "edge_event_count", window: { t_a: lo, t_b: hi }, stride: Math.max(1, Math.ceil((hi - lo) / 80)), limit: 200 }).then((r) =>
    put(place, failed(r) ? ErrorCard(r) : el("div", { class: "card" }, series(r.rows.map((x) => ({ from: x.t_a, to: x.t_b, value: x.value })), "events"))));
  return [el("h2", null, "Events over valid time"), place];
}

function Questions(app) {
  const out = el("div", { "aria-live": "polite", id: "tour-answer" });
  async function ask(q) {
    put(out, el("p", { class: "small" }, "asking …"));
    const r = await post("/api/ask", { question: q, planner: "offline" });
    put(out, failed(r) ? ErrorCard(r) : Answer(r, ask, app));
  }
  return [el("h2", null, "Ask it something"), el("p", null, "These questions were made for this store and have an answer. Open a claim to see exactly the rows it cites."),
    el("ul", { class: "chips", id: "tour-questions" }, (app.info.examples ?? []).map((q) => el("li", null, el("button", { type: "button", onclick: () => ask(q) }, q)))), out];
}

// A ceiling so low that the whole window is refused; what is offered instead is admitted.
function Refusal(c) {
  const out = el("div", { "aria-live": "polite", id: "tour-cost" }), lo = Number(c.valid_time?.vt_min ?? 0), hi = Number(c.valid_time?.vt_max ?? 1);
  const args = { group_by: [{ dim: "endpoint", role: "src" }], aggregates: [{ agg: "count" }], window: { t_a: lo, t_b: hi }, limit: 10 };
  const ceilings = { rows_scanned_est: Math.max(1, Math.floor((Number(c.edge_versions) + Number(c.node_versions)) / 2)) };
  async function run(a) {
    const r = await post("/api/op?form=wire", { op: "aggregate_events", args: a, ceilings });
    if (failed(r)) { put(out, ErrorCard(r, (offer) => run({ ...a, [offer.arg]: offer.value }))); return; }
    put(out, el("div", { class: "card fine" }, el("p", null, `Admitted: ${count(r.rows_total)} senders between ${day(r.args_echo.window.t_a)} and ${day(r.args_echo.window.t_b)}.`), el("pre", null, r.rows.slice(0, 5).map((x) => plain(x)).join("\n"))));
  }
  return [el("h2", null, "Be refused"), el("p", null, "Every call is estimated before it runs. This one asks for everything under a ceiling of half the store; it is refused, and offered the largest part that would pass."),
    el("button", { type: "button", class: "main", id: "tour-refuse", onclick: () => run(args) }, "Ask for too much"), out];
}

function Presets(app) {
  const vt = app.info.card.valid_time ?? {}, lo = Number(vt.vt_min ?? 0), hi = Number(vt.vt_max ?? 1), uid = app.someUid;
  const presets = [["Who sends most", "aggregate_events", { group_by: [{ dim: "endpoint", role: "src" }], aggregates: [{ agg: "count" }], window: { t_a: lo, t_b: hi } }],
    ["Bursts", "burst_detection", { target: { kind: "edge_event_rate" }, window: { t_a: lo, t_b: hi }, stride: Math.max(1, Math.floor((hi - lo) / 60)) }],
    uid ? ["Who can be reached in time order", "temporal_reachability", { src: uid, window: { t_a: lo, t_b: hi } }] : null,
    ["What was corrected", "version_history", { kind: "node", belief: "superseded", window: { t_a: 0, t_b: hi } }], ["By weekday", "aggregate_events", { group_by: [{ dim: "calendar_unit", unit: "day_of_week" }], aggregates: [{ agg: "count" }], window: { t_a: lo, t_b: hi } }]].filter(Boolean);
  return [el("h2", null, "Look around"), el("ul", { class: "chips" }, presets.map(([name, o, args]) => el("li", null, el("a", { href: app.link("explore", { op: o, args: JSON.stringify(args) }) }, name)))),
    el("p", null, uid ? el("a", { href: app.link("clocks", { uid }) }, `Two clocks of ${uid}`) : null)];
}
