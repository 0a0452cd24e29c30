// An entity in the plane of both clocks: to the right what is true when, upwards what was believed when.
import { el, svg, put, facts, when, day, isOpen, timeOf, plain, count } from "./dom.js";
import { op, failed } from "./api.js";
import { ErrorCard } from "./errors.js";
import { table } from "./table.js";
import { drawing } from "./graph.js";

const H = 320, L = 84, B = 40, T = 10, R = 14;
const width = () => Math.max(300, Math.min(1100, (document.getElementById("main")?.clientWidth ?? 760) - 40)); // so that text has its size on any screen
const COLORS = ["--v1", "--v2", "--v3", "--v4"];

export function view(app) {
  const info = app.info, span = info?.card?.valid_time ?? {};
  const state = app.state();
  const uid = el("input", { id: "clocks-uid", placeholder: "uid of an entity", autocomplete: "off", list: "clocks-near" });
  const near = el("datalist", { id: "clocks-near" });
  const out = el("div", { "aria-live": "polite" });
  uid.value = state.uid ?? "";

  let typing = 0;
  uid.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(async () => {
      if (uid.value.length < 2) return;
      const found = await op("resolve_entities", { query: uid.value, limit: 12 });
      if (!failed(found)) put(near, found.rows.map((r) => el("option", { value: r.uid }, r.name ?? "")));
    }, 200);
  });

  async function open(e) {
    e?.preventDefault();
    if (uid.value.trim() === "") return;
    app.remember({ uid: uid.value });
    put(out, el("p", { class: "small" }, "reading all versions …"));
    const all = await versions(uid.value, span);
    put(out, failed(all) ? ErrorCard(all) : Plane(uid.value, all, info, app));
  }
  const node = el("section", null, el("h1", null, "Two clocks"),
    el("p", { class: "lead" }, "Each rectangle is a version: as wide as it was true (valid time), as high as it was believed (transaction time). A correction closes one rectangle and opens others above it; nothing is ever erased."),
    el("form", { onsubmit: open }, el("div", { class: "row" }, el("label", { class: "grow" }, "Entity", uid, near), el("button", { class: "main", type: "submit" }, "Draw"))),
    el("div", { class: "chips", id: "corrected" }), out);
  suggest(node.querySelector("#corrected"), (u) => { uid.value = u; open(); }, span);
  if (uid.value) open();
  return { node, focus: () => uid.focus() };
}

// Entities whose versions were corrected are the ones worth looking at.
async function suggest(into, choose, span) {
  const window = { t_a: 0, t_b: Math.max(Number(span.vt_max ?? 1), 1) };
  const found = await op("version_history", { kind: "node", belief: "superseded", window, limit: 200 });
  if (failed(found) || found.rows.length === 0) return;
  const uids = [...new Set(found.rows.map((r) => r.uid))].slice(0, 8);
  put(into, el("span", { class: "small" }, "corrected: "), uids.map((u) => el("button", { type: "button", onclick: () => choose(u) }, u)));
}

// Every version ever believed, current and superseded, of one entity.
async function versions(uid, span) {
  const now = await op("entity_history", { uid, limit: 1000 });
  if (failed(now)) return now;
  const known = new Map(now.rows.map((r) => [r.vid + "@" + r.tt_s, r]));
  const window = { t_a: 0, t_b: Math.max(Number(span.vt_max ?? 1), 1) };
  let cursor = null, times = new Set();
  for (let page = 0; page < 20; page++) {
    const old = await op("version_history", { kind: "node", belief: "superseded", window, limit: 10000, cursor });
    if (failed(old)) break;
    for (const r of old.rows) if (r.uid === uid) { known.set(r.vid + "@" + r.tt_s, r); times.add(r.tt_s); }
    cursor = old.cursor;
    if (!cursor) break;
  }
  // properties of what was superseded: ask at the belief in which it began
  for (const tt of [...times].slice(0, 30)) {
    const then = await op("entity_history", { uid, as_of_tt: tt, limit: 1000 });
    if (!failed(then)) for (const r of then.rows) { const k = r.vid + "@" + r.tt_s; if (known.has(k)) known.set(k, { ...known.get(k), props: r.props, label: r.label, source: r.source }); }
  }
  return [...known.values()].sort((a, b) => a.tt_s - b.tt_s || a.vt_s - b.vt_s);
}

function scale(lo, hi, from, to) { return (t) => from + ((Number(t) - lo) / (hi - lo || 1)) * (to - from); }

function Plane(uid, rows, info, app) {
  if (rows.length === 0) return el("div", { class: "card note" }, `${uid} is known only as the end of events: it has no versions of its own.`);
  const W = width();
  const ends = rows.flatMap((r) => [r.vt_s, r.vt_e]).filter((t) => !isOpen(t)).map(Number), vt = info?.card?.valid_time ?? {};
  const beliefs = [...new Set(rows.flatMap((r) => [r.tt_s, r.tt_e]).filter((t) => !isOpen(t)).map(Number))].sort((a, b) => a - b);
  const v0 = Math.min(...ends, Number(vt.vt_min ?? Infinity)), v1 = Math.max(...ends, Number(vt.vt_max ?? 0));
  const pad = (v1 - v0 || 86400e6) * 0.04, x = scale(v0 - pad, v1 + pad, L, W - R);
  // beliefs often lie close together, so each change gets a band of its own, and the axis names its time
  const y = (tt) => { if (isOpen(tt)) return T; const i = beliefs.findIndex((b) => b >= Number(tt)); const n = i < 0 ? beliefs.length : i;
    return H - B - ((n + (i >= 0 && beliefs[i] === Number(tt) ? 0 : -0.5)) / beliefs.length) * (H - B - T); };
  const kinds = [...new Set(rows.map((r) => plain(r.props ?? {}) + r.label))];
  const detail = el("div", { "aria-live": "polite" });
  const choose = (r) => put(detail, el("div", { class: "card" }, facts([["true", `${when(r.vt_s)} – ${when(r.vt_e)}`], ["believed", `${when(r.tt_s)} – ${isOpen(r.tt_e) ? "now" : when(r.tt_e)}`],
    ["label", r.label], ["properties", el("pre", null, plain(r.props ?? {}, 2))], r.source ? ["source", r.source] : null, ["version", el("code", null, r.vid)]])));
  const boxes = rows.map((r) => {
    const left = Math.max(L, x(r.vt_s)), right = isOpen(r.vt_e) ? W - R : x(r.vt_e), top = y(r.tt_e), bottom = y(r.tt_s);
    return svg("rect", { class: "version", tabindex: "0", role: "button", "aria-label": `true ${when(r.vt_s)} to ${when(r.vt_e)}, believed ${when(r.tt_s)} to ${when(r.tt_e)}`,
      x: left, width: Math.max(3, right - left), y: top, height: Math.max(3, bottom - top), fill: `var(${COLORS[kinds.indexOf(plain(r.props ?? {}) + r.label) % COLORS.length]})`,
      onclick: () => choose(r), onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(r); } } },
      svg("title", null, plain(r.props ?? {})));
  });
  const cross = [svg("line", { class: "hair", y1: T, y2: H - B }), svg("line", { class: "hair", x1: L, x2: W - R })];
  const ticks = (W < 500 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((f) => { const t = v0 + f * (v1 - v0); return [svg("line", { class: "grid", x1: x(t), x2: x(t), y1: T, y2: H - B }),
    svg("text", { x: x(t), y: H - 24, "text-anchor": f === 1 ? "end" : f === 0 ? "start" : "middle" }, day(t))]; });
  const levels = beliefs.filter((_, i) => beliefs.length <= 8 || i % Math.ceil(beliefs.length / 8) === 0).map((b) => [svg("line", { class: "grid", x1: L, x2: W - R, y1: y(b), y2: y(b) }),
    svg("text", { x: L - 8, y: y(b) + 4, "text-anchor": "end" }, beliefs.at(-1) - beliefs[0] < 20 * 86400e6 ? when(b).slice(5, 16) : day(b))]);
  const drawn = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": `${rows.length} versions of ${uid} in valid time and transaction time` }, ticks, levels, boxes, cross,
    svg("text", { x: W - R, y: H - 6, "text-anchor": "end" }, "valid time →"), svg("text", { x: 4, y: T + 4 }, "belief ↑"));

  const sliders = Sliders(uid, v0, v1, beliefs, app, (v, b) => {
    const cx = Math.min(W - R, Math.max(L, x(v))), level = b === null ? T + 6 : y(b) - (H - B - T) / beliefs.length / 2;
    cross[0].setAttribute("x1", cx); cross[0].setAttribute("x2", cx);
    cross[1].setAttribute("y1", level); cross[1].setAttribute("y2", level);
  });
  return [el("div", { class: "card" }, drawn, detail), sliders, Changes(uid, beliefs), el("details", null, el("summary", null, `all ${rows.length} versions as a table`), table(rows, { columns: ["label", "vt_s", "vt_e", "tt_s", "tt_e", "props", "vid"] }))];
}

// Two sliders that move a neighbourhood.
function Sliders(uid, v0, v1, beliefs, app, moved) {
  const valid = el("input", { type: "range", min: 0, max: 1000, value: 500, id: "valid", "aria-label": "valid time" }), validOut = el("output", { for: "valid" });
  const belief = el("input", { type: "range", min: 0, max: beliefs.length, value: beliefs.length, id: "belief", "aria-label": "belief" }), beliefOut = el("output", { for: "belief" });
  const out = el("div", { class: "two" });
  let running = null, timer = 0;
  const at = () => ({ t: Math.round(v0 + (valid.value / 1000) * (v1 - v0)), tt: Number(belief.value) === beliefs.length ? null : beliefs[Number(belief.value)] });

  async function load() {
    const { t, tt } = at();
    running?.abort();
    running = new AbortController();
    out.classList.add("wait");
    const shot = await op("snapshot_subgraph", { seeds: [uid], hops: 1, t_valid: t, as_of_tt: tt, limit: 2000 }, running.signal);
    if (shot.error === "E_CANCELLED") return;
    let rows = failed(shot) ? [] : shot.rows, note = null;
    if (!failed(shot) && rows.length === 0) { // instant events are almost never valid at an instant: show those around it
      const around = Math.max(86400e6, (v1 - v0) / 40);
      const past = await op("entity_history", { uid, include_edges: true, as_of_tt: tt, limit: 10000 }, running.signal);
      if (failed(past)) { if (past.error === "E_CANCELLED") return; } else {
        rows = (past.edges ?? []).filter((e) => e.vt_s >= t - around && e.vt_s <= t + around);
        note = `No edge is valid at this very instant; these ${rows.length} lie within ${Math.round(around / 86400e6)} ${Math.round(around / 86400e6) === 1 ? "day" : "days"} of it.`;
      }
    }
    out.classList.remove("wait");
    put(out, failed(shot) ? ErrorCard(shot) : [el("div", null, note ? el("p", { class: "small" }, note) : null, drawing(rows, { seeds: [uid], height: 300, onnode: (n) => app.go("clocks", { uid: n }) }).box),
      el("div", null, table(rows, { columns: ["src", "dst", "rel_type", "vt_s", "vt_e"], caption: `${count(rows.length)} edges` }))]);
  }
  function change() {
    const { t, tt } = at();
    validOut.value = when(t);
    beliefOut.value = tt === null ? "now" : when(tt);
    moved(t, tt);
    clearTimeout(timer);
    timer = setTimeout(load, 120);
  }
  valid.addEventListener("input", change);
  belief.addEventListener("input", change);
  queueMicrotask(change);
  return el("div", { class: "card" }, el("div", { class: "sliders" }, el("label", null, el("span", null, "Valid at ", validOut), valid), el("label", null, el("span", null, "As believed at ", beliefOut), belief)), out);
}

// What changed between two beliefs, and which corrections did it.
function Changes(uid, beliefs) {
  if (beliefs.length < 2) return el("p", { class: "small" }, "This entity was never corrected: every belief about it is the same.");
  const options = (chosen) => beliefs.map((b, i) => el("option", { value: b, selected: i === chosen }, when(b)));
  const a = el("select", null, options(0)), b = el("select", null, options(beliefs.length - 1)), out = el("div", { "aria-live": "polite" });
  async function compare() {
    const [x, y] = [Number(a.value), Number(b.value)].sort((p, q) => p - q);
    const before = await op("entity_history", { uid, as_of_tt: x, limit: 1000 }), after = await op("entity_history", { uid, as_of_tt: y, limit: 1000 });
    if (failed(before) || failed(after)) { put(out, ErrorCard(failed(before) ? before : after)); return; }
    const key = (r) => `${r.vt_s} ${r.vt_e} ${r.label} ${plain(r.props)}`;
    const old = new Set(before.rows.map(key)), fresh = new Set(after.rows.map(key));
    const gone = before.rows.filter((r) => !fresh.has(key(r))).map((r) => ({ change: "no longer believed", ...r }));
    const come = after.rows.filter((r) => !old.has(key(r))).map((r) => ({ change: "believed since", ...r }));
    put(out, gone.length + come.length === 0 ? el("p", null, "Nothing: both beliefs say the same.")
      : table([...gone, ...come], { columns: ["change", "vt_s", "vt_e", "label", "props", "tt_s", "source"], caption: "what changed, and when it was written (tt_s)" }));
  }
  return el("div", { class: "card", id: "changes" }, el("h3", null, "What changed between these two beliefs"),
    el("div", { class: "row" }, el("label", null, "from", a), el("label", null, "to", b), el("button", { type: "button", onclick: compare }, "Compare")), out);
}
