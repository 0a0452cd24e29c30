// A table of any length: only the rows in sight exist.
import { el, put, isTime, show, when } from "./dom.js";

const ROW = 28, MARGIN = 20;

// rows: objects; options: {columns, hit(row), onrow(row), caption}
export function table(rows, options = {}) {
  const columns = options.columns ?? columnsOf(rows);
  const body = el("tbody"), widths = [String(rows.length).length, ...columns.map((c) => width(rows, c))];
  const head = el("tr", null, el("th", { scope: "col" }, "#"), columns.map((c) => el("th", { scope: "col" }, c)));
  const box = el("div", { class: "tablebox", tabindex: "0", role: "region", "aria-label": options.caption ?? "rows" },
    el("table", { "aria-rowcount": rows.length }, options.caption ? el("caption", null, options.caption) : null,
      el("colgroup", null, widths.map((w) => { const col = el("col"); col.style.width = w * 0.54 + 1.4 + "rem"; return col; })), el("thead", null, head), body));
  let from = -1, to = -1;

  function cell(row, column) {
    const value = row !== null && typeof row === "object" && !("raw" in row) ? row[column] : row;
    const text = show(column, value);
    const numeric = typeof value === "number" && !isTime(column);
    return el("td", { class: numeric ? "num" : null, title: isTime(column) && value !== null ? `${text} (${value?.raw ?? value})` : text.length > 40 ? text : null }, text);
  }
  function line(i) {
    const row = rows[i];
    const attributes = { "aria-rowindex": i + 1, class: options.hit?.(row, i) ? "hit" : null };
    if (options.onrow) Object.assign(attributes, { tabindex: "0", onclick: () => options.onrow(row), onkeydown: (e) => { if (e.key === "Enter") options.onrow(row); } });
    return el("tr", attributes, el("td", null, i + 1), columns.map((c) => cell(row, c)));
  }
  function gap(n) {
    const cell = el("td", { colspan: columns.length + 1 });
    cell.style.height = n * ROW + "px";
    return el("tr", { class: "gap", "aria-hidden": "true" }, cell);
  }

  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - MARGIN);
    const last = Math.min(rows.length, Math.ceil((box.scrollTop + (box.clientHeight || 512)) / ROW) + MARGIN);
    if (first === from && last === to) return;
    from = first;
    to = last;
    put(body, first > 0 ? gap(first) : null, Array.from({ length: last - first }, (_, k) => line(first + k)), last < rows.length ? gap(rows.length - last) : null);
  }
  let asked = false;
  box.addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }, { passive: true });
  draw();
  const hit = options.hit ? rows.findIndex((r, i) => options.hit(r, i)) : -1;
  if (hit > 8) requestAnimationFrame(() => { box.scrollTop = (hit - 4) * ROW; });
  return box;
}

// Columns keep their width while rows come and go, so that a step of scrolling lays out only the rows that came.
function width(rows, column) {
  let most = column.length;
  for (let i = 0; i < rows.length; i += Math.max(1, Math.floor(rows.length / 200))) {
    const row = rows[i], value = row !== null && typeof row === "object" && !("raw" in row) ? row[column] : row;
    most = Math.max(most, show(column, value).length);
  }
  return Math.min(46, most);
}

export function columnsOf(rows) {
  const seen = new Set();
  for (const row of rows.slice(0, 200)) {
    if (row !== null && typeof row === "object" && !Array.isArray(row) && !("raw" in row)) Object.keys(row).forEach((k) => seen.add(k));
    else seen.add("value");
  }
  const order = ["uid", "src", "dst", "rel_type", "label", "vt_s", "vt_e", "tt_s", "tt_e", "t_a", "t_b"];
  const rank = (c) => (order.includes(c) ? order.indexOf(c) : c === "vid" || c === "eid" ? 99 : 50);
  return [...seen].sort((a, b) => rank(a) - rank(b));
}

export const timeCell = (t) => el("span", { title: String(t) }, when(t));
