// Elements, times and numbers. All text goes through text nodes: nothing that was stored or asked becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function put(node, ...children) {
  node.replaceChildren();
  return fill(node, null, children);
}

// Microseconds since 1970 as people read them. Open ends come as null, and beyond 2^53 as text.
const OPEN = 2n ** 62n;
export const isOpen = (t) => t === null || t === undefined || (typeof t !== "number" && BigInt(t) >= OPEN) || (typeof t === "number" && t >= 4.6e18);
export function when(t) {
  if (isOpen(t)) return "open";
  const us = Number(t);
  const text = new Date(Math.floor(us / 1000)).toISOString();
  const rest = ((us % 1000000) + 1000000) % 1000000;
  const short = text.slice(0, 10) + (text.slice(11, 19) === "00:00:00" && rest === 0 ? "" : " " + text.slice(11, 19));
  return rest === 0 ? short : short + "." + String(rest).padStart(6, "0").replace(/0+$/, "");
}
export const day = (t) => (isOpen(t) ? "open" : new Date(Number(t) / 1000).toISOString().slice(0, 10));
export const count = (n) => Number(n).toLocaleString("en-US").replaceAll(",", "\u2009");

// What a field of text means as a time: microseconds, or a date.
export function timeOf(text) {
  const t = String(text ?? "").trim();
  if (t === "") return null;
  if (/^\d{11,}$/.test(t)) return Number(t);
  const ms = Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(t) ? t + "T00:00:00Z" : /[zZ]|[+-]\d\d:?\d\d$/.test(t) ? t : t.replace(" ", "T") + "Z");
  return Number.isNaN(ms) ? t : ms * 1000;
}

const TIMES = new Set(["vt_s", "vt_e", "tt_s", "tt_e", "t_a", "t_b", "t", "t1", "t2", "earliest_arrival", "latest_departure", "min_vt_s", "max_vt_s",
  "as_of_tt", "t_valid", "start", "end", "vt_min", "vt_max"]);
export const isTime = (name) => TIMES.has(name);

export function show(name, value) {
  if (isTime(name) && (value === null || typeof value !== "object")) return when(value);
  if (value === null || value === undefined) return "–";
  if (typeof value === "object") return value.raw ?? plain(value);
  return String(value);
}

// JSON for people; numbers that were kept as text stay as they were written.
export function plain(value, indent) {
  if (value !== null && typeof value === "object" && "raw" in value && Object.keys(value).length === 1) return value.raw;
  return JSON.stringify(value, (key, v) => (v !== null && typeof v === "object" && "raw" in v && Object.keys(v).length === 1 ? "\u0001" + v.raw : v), indent)
    ?.replace(/"\\u0001([^"]*)"/g, "$1") ?? "";
}

export const facts = (pairs) => el("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
export const status = (word) => el("span", { class: "status " + word }, { supported: "✓ ", weakly_supported: "≈ ", unsupported: "✗ ", unverifiable: "? " }[word] ?? "", word.replaceAll("_", " "));

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
