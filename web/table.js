// A table of any length: only the rows in sight exist.
import { el, isTime, show, when } from "./dom.js";

const ROW = 28, MARGIN = 6;

// rows: objects; options: {columns, hit(row), onrow(row), caption}
export function table(rows, options = {}) {
  const columns = options.columns ?? columnsOf(rows);
  const body = el("tbody"), widths = [String(rows.length).length, ...columns.map((c) => width(rows, c))];
  const head = el("tr", null, el("th", { scope: "col" }, "#"), columns.map((c) => el("th", { scope: "col" }, c)));
  const box = el("div", { class: "tablebox", tabindex: "0", role: "region", "aria-label": options.caption ?? "rows" },
    el("table", { "aria-rowcount": rows.length }, options.caption ? el("caption", null, options.caption) : null,
      el("colgroup", null, widths.map((w) => { const col = el("col"); col.style.width = w * 0.54 + 1.4 + "rem"; return col; })), el("thead", null, head), body));
  const above = gap(), below = gap(), drawn = new Map(), spare = [];
  body.append(above.row, below.row);

  function gap() {
    const cell = el("td", { colspan: columns.length + 1 });
    return { row: el("tr", { class: "gap", "aria-hidden": "true" }, cell), of: (n) => { cell.style.height = n * ROW + "px"; cell.parentNode.hidden = n === 0; } };
  }
  // A row element and its texts. They are used again for other rows: making new ones would take longer than a frame.
  function line() {
    const l = { i: -1, texts: [0, ...columns].map(() => document.createTextNode("")), row: el("tr") };
    l.row.append(...l.texts.map((t) => el("td", null, t)));
    if (options.onrow) {
      l.row.tabIndex = 0;
      l.row.addEventListener("click", () => options.onrow(rows[l.i]));
      l.row.addEventListener("keydown", (e) => { if (e.key === "Enter") options.onrow(rows[l.i]); });
    }
    return l;
  }
  function say(node, text) { if (node.data !== text) node.data = text; }
  function fill(l, i) {
    const row = rows[i];
    l.i = i;
    l.row.setAttribute("aria-rowindex", i + 1);
    l.row.classList.toggle("hit", Boolean(options.hit?.(row, i)));
    say(l.texts[0], String(i + 1));
    columns.forEach((column, k) => {
      const value = member(row, column), text = show(column, value), cell = l.texts[k + 1].parentNode;
      const title = isTime(column) && value !== null ? `${text} (${value?.raw ?? value})` : text.length > 40 ? text : "";
      say(l.texts[k + 1], text);
      if (cell.title !== title) cell.title = title;
      cell.className = typeof value === "number" && !isTime(column) ? "num" : "";
    });
  }

  let from = -1, to = -1;
  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - MARGIN);
    const last = Math.min(rows.length, Math.ceil((box.scrollTop + (box.clientHeight || 512)) / ROW) + MARGIN);
    if (first === from && last === to) return;
    from = first;
    to = last;
    for (const [i, l] of drawn) if (i < first || i >= last) { drawn.delete(i); spare.push(l); }
    let before = above.row;
    for (let i = first; i < last; i++) {
      const known = drawn.get(i), l = known ?? spare.shift() ?? line();
      if (!known) { fill(l, i); drawn.set(i, l); }
      if (before.nextSibling !== l.row) before.after(l.row);
      before = l.row;
    }
    spare.forEach((l) => l.row.remove());
    above.of(first);
    below.of(rows.length - last);
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

const member = (row, column) => (row !== null && typeof row === "object" && !("raw" in row) ? row[column] : row);

// Columns keep their width while rows come and go, so that a step of scrolling lays out only the rows that came.
function width(rows, column) {
  let most = column.length;
  for (let i = 0; i < rows.length; i += Math.max(1, Math.floor(rows.length / 200))) {
    most = Math.max(most, show(column, member(rows[i], column)).length);
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
