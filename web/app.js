// Tabs, the address, the theme, and what all tabs know of the store.
import { put, el, when } from "./dom.js";
import { get, op, failed, follow } from "./api.js";

const tabs = { tour: "./tour.js", ask: "./ask.js", clocks: "./clocks.js", explore: "./explore.js", tamper: "./tamper.js", traces: "./traces.js" };
const main = document.getElementById("main"), now = document.getElementById("now"), root = document.documentElement;

function address() {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  return { name: tabs[name] ? name : "tour", state: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

const app = {
  info: null, ops: [], why: null, someUid: null, otherUid: null, onrow: null,
  state: () => address().state,
  link: (name, state) => "#" + name + "?" + new URLSearchParams(Object.entries(state).filter(([, v]) => v !== undefined && v !== null && v !== "")).toString(),
  remember: (state) => history.replaceState(null, "", app.link(address().name, state)),
  go: (name, state) => { location.hash = app.link(name, state); },
};

async function learn() {
  const info = await get("/api/info");
  app.info = failed(info) || !info.card ? null : info;
  app.why = failed(info) ? `${info.message} ${info.details?.hint ?? ""}` : null;
  if (app.ops.length === 0) app.ops = (await get("/api/ops")).operators ?? [];
  if (app.info && !app.someUid) await someone();
  clock();
}

// An entity that does something: whoever sends most, and whom.
async function someone() {
  const vt = app.info.card.valid_time;
  if (!vt) return;
  const lo = Number(vt.vt_min), hi = Number(vt.vt_max);
  const found = await op("aggregate_events", { group_by: [{ dim: "endpoint", role: "src" }], aggregates: [{ agg: "count" }], window: { t_a: lo, t_b: Math.min(hi, lo + Math.ceil((hi - lo) / 20)) }, limit: 1000 });
  if (failed(found) || found.rows.length === 0) return;
  const rows = [...found.rows].sort((a, b) => b.count - a.count);
  app.someUid = rows[0].src;
  app.otherUid = rows[1]?.src ?? rows[0].src;
}

function clock() {
  put(now, app.info ? [el("span", null, "believed now: "), when(app.info.as_of_tt)] : "no store");
}

let shown = null;
async function show() {
  const { name } = address();
  document.querySelectorAll("nav a").forEach((a) => (a.getAttribute("href") === "#" + name ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current")));
  const module = await import(tabs[name]);
  if (address().name !== name) return;
  const view = module.view(app);
  shown = view;
  put(main, view.node);
  document.title = name === "tour" ? "Merkhet" : `Merkhet: ${name}`;
}

function theme(name) {
  root.dataset.theme = name;
  document.dispatchEvent(new Event("themechange"));
}
const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
try { chosen = localStorage.getItem("theme"); } catch { chosen = null; }
theme(chosen ?? (dark.matches ? "dark" : "light"));
dark.addEventListener("change", () => { if (!chosen) theme(dark.matches ? "dark" : "light"); });
document.getElementById("theme").addEventListener("click", () => {
  chosen = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", chosen); } catch { /* private windows have none */ }
  theme(chosen);
});

document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")) return;
  e.preventDefault();
  if (address().name === "ask") shown?.focus();
  else { location.hash = "#ask"; setTimeout(() => document.getElementById("question")?.focus(), 60); }
});

addEventListener("hashchange", show);
await learn();
await show();
follow((tt) => {
  if (app.info) app.info.as_of_tt = tt;
  now.classList.add("fresh");
  setTimeout(() => now.classList.remove("fresh"), 2500);
  learn();
}, (connected) => now.classList.toggle("lost", !connected));
