// Any operator from a form that its schema makes; results as table, chart or graph; shareable by URL.
import { el, put, facts, count, timeOf, isTime, plain } from "./dom.js";
import { op, failed } from "./api.js";
import { ErrorCard } from "./errors.js";
import { table } from "./table.js";
import { drawing } from "./graph.js";
import { series, bars } from "./chart.js";

const kindOf = (schema) => { const t = Array.isArray(schema.type) ? schema.type.find((x) => x !== "null" && x !== "string") ?? schema.type[0] : schema.type; return t ?? "any"; };
const takesTime = (name, schema) => isTime(name) || (Array.isArray(schema.type) && schema.type.includes("integer") && schema.type.includes("string"));

// One field of a form: its node, what it holds, and how to set it.
function field(name, schema, required) {
  const kind = kindOf(schema), hint = (schema.description ?? "").slice(0, 400);
  if (kind === "object" && schema.properties) {
    const inner = form(schema, required);
    return { node: el("fieldset", null, el("legend", null, name + (required ? " *" : "")), hint ? el("p", { class: "small" }, hint) : null, inner.fields.map((f) => f.node)), read: inner.read, set: inner.set };
  }
  let control;
  const bounds = schema.default !== undefined && schema.default !== null && typeof schema.default !== "object" ? String(schema.default) : "";
  if (schema.enum) control = el("select", { name }, required ? null : el("option", { value: "" }, "–"), schema.enum.filter((v) => v !== null).map((v) => el("option", { value: v }, v)));
  else if (kind === "boolean") control = el("select", { name }, el("option", { value: "" }, "–"), el("option", { value: "true" }, "yes"), el("option", { value: "false" }, "no"));
  else if (kind === "array" && schema.items?.type === "string") control = el("input", { name, placeholder: "one, or several with commas between", autocomplete: "off" });
  else if (kind === "array" || kind === "any" || kind === "object") control = el("textarea", { name, rows: 3, placeholder: "JSON", spellcheck: "false" });
  else control = el("input", { name, autocomplete: "off", inputmode: kind === "integer" && !takesTime(name, schema) ? "numeric" : null, placeholder: takesTime(name, schema) ? (/^2\^62|4611686018427387904/.test(bounds) ? "now" : "2024-05-01, or microseconds") : bounds });
  function read() {
    const text = control.value.trim();
    if (text === "") return undefined;
    if (schema.enum) return text;
    if (kind === "boolean") return text === "true";
    if (kind === "array" && schema.items?.type === "string") return text.startsWith("[") ? JSON.parse(text) : text.split(",").map((s) => s.trim()).filter((s) => s !== "");
    if (kind === "array" || kind === "any" || kind === "object") { try { return JSON.parse(text); } catch { return text; } }
    if (takesTime(name, schema)) return timeOf(text);
    return kind === "integer" || kind === "number" ? (Number.isNaN(Number(text)) ? text : Number(text)) : text;
  }
  const set = (v) => { control.value = v === undefined || v === null ? "" : Array.isArray(v) && schema.items?.type === "string" ? v.join(", ") : typeof v === "object" ? plain(v, 1) : String(v); };
  return { node: el("label", { title: hint }, name + (required ? " *" : ""), control, hint && required ? el("span", { class: "small" }, hint.split(". ")[0]) : null), read, set };
}

function form(schema, needed) {
  const required = new Set(schema.required ?? []);
  const entries = Object.entries(schema.properties ?? {}).sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
  const fields = entries.map(([name, s]) => ({ name, ...field(name, s, required.has(name)) }));
  return { fields, needed,
    read: () => { const out = {}; for (const f of fields) { const v = f.read(); if (v !== undefined) out[f.name] = v; } return Object.keys(out).length || needed ? out : undefined; },
    set: (values) => { for (const f of fields) f.set(values?.[f.name]); } };
}

export function view(app) {
  const state = app.state(), names = app.ops.map((o) => o.name);
  const choose = el("select", { id: "op" }, [...new Set(app.ops.map((o) => o.group))].map((g) => el("optgroup", { label: g }, app.ops.filter((o) => o.group === g).map((o) => el("option", { value: o.name }, o.name)))));
  const about = el("div"), place = el("div"), out = el("div", { "aria-live": "polite", id: "result" }), share = el("p", { class: "small" });
  let current = null, fieldsOf = null, walked = { rows: [], digests: [] }, running = null;

  function pick(name, values) {
    current = app.ops.find((o) => o.name === name) ?? app.ops[0];
    choose.value = current.name;
    fieldsOf = form(current.schema.arguments, true);
    fieldsOf.set(values ?? suggested(current, app));
    put(about, el("p", null, current.summary + "."), current.help ? el("details", null, el("summary", null, "more"), el("p", { class: "small" }, current.help)) : null);
    const first = fieldsOf.fields.filter((f) => (current.schema.arguments.required ?? []).includes(f.name)), rest = fieldsOf.fields.filter((f) => !first.includes(f));
    put(place, first.map((f) => f.node), rest.length ? el("details", { open: first.length < 2 }, el("summary", null, "more arguments"), rest.map((f) => f.node)) : null);
    put(out);
    put(share);
  }

  async function run(args, more) {
    running?.abort();
    running = new AbortController();
    out.classList.add("wait");
    const begun = performance.now(), result = await op(current.name, args, running.signal);
    out.classList.remove("wait");
    if (result.error === "E_CANCELLED") return;
    if (failed(result)) { put(out, ErrorCard(result, (offer) => { fieldsOf.set({ ...args, [offer.arg]: offer.value }); run({ ...args, [offer.arg]: offer.value }); })); return; }
    const before = more ? walked : { rows: [], digests: [] };
    walked = { rows: before.rows.concat(result.rows ?? []), digests: [...before.digests, result.result_digest] };
    const pinned = result.args_echo?.as_of_tt ?? app.info?.as_of_tt;
    const link = app.link("explore", { op: current.name, args: JSON.stringify({ ...args, as_of_tt: pinned, cursor: undefined }) });
    history.replaceState(null, "", link);
    put(share, el("a", { href: link }, walked.digests.length > 1 ? "Link to the first of these pages" : "Link to this result"), ` pinned at the belief of ${pinned}: whoever opens it sees the same, whatever is written later.`);
    put(out, Result(result, walked, performance.now() - begun, (cursor) => run({ ...args, cursor }, true), app));
  }
  const go = (e) => { e.preventDefault(); try { run(fieldsOf.read()); } catch (err) { put(out, ErrorCard({ error: "E_SCHEMA", message: `An argument is no JSON: ${err.message}`, details: {} })); } };
  choose.addEventListener("change", () => pick(choose.value));
  const node = el("section", null, el("h1", null, "Explore"), el("p", { class: "lead" }, "Every operator, its form made from its own schema. Dates may be written as dates; times are UTC."),
    el("div", { class: "two form-result" }, el("form", { class: "card", onsubmit: go }, el("label", null, "Operator", choose), about, place,
      el("div", { class: "row" }, el("button", { class: "main", type: "submit" }, "Run"), el("button", { type: "button", onclick: () => pick(current.name) }, "Reset"))), el("div", null, out, share)));
  let given = null;
  try { given = state.args ? JSON.parse(state.args) : null; } catch { given = null; }
  pick(names.includes(state.op) ? state.op : "temporal_reachability", given);
  if (given) run(given);
  return { node, focus: () => choose.focus() };
}

// Arguments that give something to see in this very store.
function suggested(o, app) {
  const vt = app.info?.card?.valid_time ?? {}, uid = app.someUid, lo = Number(vt.vt_min ?? 0), hi = Number(vt.vt_max ?? 1), out = {}, p = o.schema.arguments.properties ?? {};
  for (const name of ["uid", "src"]) if (p[name] && uid) out[name] = uid;
  if (p.dst && !p.src && uid) out.dst = uid;
  if (p.dst && p.src && app.otherUid) out.dst = app.otherUid;
  if (p.window) out.window = { t_a: lo, t_b: hi };
  if (p.seeds && uid) out.seeds = [uid];
  if (p.t_valid) out.t_valid = Math.floor((lo + hi) / 2);
  if (p.t1) Object.assign(out, { t1: Math.floor(lo + (hi - lo) / 4), t2: Math.floor(lo + (hi - lo) / 2) });
  if (p.stride && (o.schema.arguments.required ?? []).includes("stride")) out.stride = Math.max(1, Math.floor((hi - lo) / 40));
  if (p.delta) out.delta = 3600e6;
  if (p.query && uid) out.query = uid.slice(0, 4);
  if (o.name === "burst_detection") { out.target = { kind: "edge_event_rate" }; out.stride = Math.max(1, Math.floor((hi - lo) / 60)); }
  if (o.name === "aggregate_events") { out.group_by = [{ dim: "endpoint", role: "src" }]; out.aggregates = [{ agg: "count" }]; }
  if (o.name === "graph_metric_timeseries") out.metric = "edge_event_count";
  if (o.name === "version_history") out.kind = "node";
  if (o.name === "compute") Object.assign(out, o.example);
  if (o.name === "co_active") Object.assign(out, { a_spec: { src: uid }, b_spec: { src: app.otherUid ?? uid }, allen_relation: { relation: "before", gap: 3600e6 } });
  if (/motif/.test(o.name)) out.motif = p.motif?.enum?.[0];
  return out;
}

// `walked`: the rows of all pages so far, and the digest of each page.
function Result(r, { rows, digests }, ms, next, app) {
  const known = new Set(["op", "args_echo", "dataset_extent", "rows", "rows_total", "truncated", "cursor", "result_digest", "completeness", "served"]);
  const other = Object.entries(r).filter(([k]) => !known.has(k)), gaps = Object.entries(r.completeness ?? {});
  const lists = other.filter(([, v]) => Array.isArray(v)), plainOnes = other.filter(([, v]) => !Array.isArray(v));
  const views = [];
  const edges = rows.length && rows[0]?.src !== undefined && rows[0]?.dst !== undefined ? rows : lists.map(([, v]) => v).find((v) => v[0]?.src !== undefined && v[0]?.dst !== undefined);
  const points = rows.length > 1 && rows[0]?.t_a !== undefined ? rows : null, numeric = points ? Object.keys(points[0]).find((k) => !["t_a", "t_b"].includes(k) && typeof points[0][k] === "number") : null;
  if (points && numeric) views.push(["chart", () => el("div", { class: "card" }, series(points.map((p) => ({ from: p.t_a, to: p.t_b, value: p[numeric] })), numeric))]);
  if (edges) views.push(["graph", () => drawing(edges, { seeds: r.args_echo?.seeds ?? (r.args_echo?.src ? [r.args_echo.src] : []), onnode: (n) => app.go("clocks", { uid: n }) }).box]);
  if (!points && rows.length > 1 && rows.length <= 40 && typeof rows[0] === "object" && rows[0]?.count !== undefined) {
    const name = Object.keys(rows[0]).find((k) => typeof rows[0][k] === "string");
    if (name) views.push(["bars", () => el("div", { class: "card" }, bars(rows.map((x) => [x[name], x.count]), "counts"))]);
  }
  if (rows.length) views.push(["table", () => table(rows, { caption: r.rows_total !== undefined ? `${count(rows.length)} of ${count(r.rows_total)} rows` : `${count(rows.length)} rows`, onrow: app.onrow })]);
  const shown = el("div", { id: "shown" }), buttons = views.map(([name, make]) => el("button", { type: "button", "aria-pressed": "false", onclick: (e) => {
    buttons.forEach((b) => b.setAttribute("aria-pressed", "false")); e.target.setAttribute("aria-pressed", "true"); put(shown, make()); } }, name));
  queueMicrotask(() => buttons[0]?.click());
  return [facts([r.rows_total !== undefined ? ["rows", `${count(r.rows_total)}${r.truncated ? `, ${count(rows.length)} shown` : ""}`] : null,
      [digests.length > 1 ? "last page" : "complete", gaps.length ? gaps.map(([k, v]) => `${k}: ${v.map((g) => `${g.reason}${g.total !== undefined ? ` ${g.shown} of ${g.total}` : ""}`).join(", ")}`).join("; ") : "yes"],
      ...plainOnes.map(([k, v]) => [k, el("code", null, plain(v))]), digests.length > 1 ? ["digests, a page each", el("ul", { class: "chips" }, digests.map((d) => el("li", null, el("code", null, d))))] : ["digest", el("code", null, r.result_digest)], ["took", `${ms.toFixed(0)} ms with the way here and back`],
      r.served?.note ? ["note", r.served.note] : null]),
    views.length > 1 ? el("div", { class: "row" }, buttons) : null, shown,
    r.cursor ? el("p", null, el("button", { type: "button", id: "more", onclick: () => next(r.cursor) }, "Next page")) : null,
    lists.filter(([, v]) => v !== edges || rows === edges).map(([k, v]) => el("details", null, el("summary", null, `${k}: ${count(v.length)}`), table(v, { caption: k })))];
}
