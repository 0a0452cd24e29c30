// A drawing of edges. Nodes begin in rings around the seeds and are pushed apart and pulled together in slices of a few
// milliseconds, always the same way for the same edges (Fruchterman and Reingold, 1991). What is far pushes as a whole
// (Barnes and Hut, 1986), so a step costs n log n.
import { el, count } from "./dom.js";

const SIZE = 1000, STEPS = 90, SLICE = 12, LABELS = 60, EDGES = 2000, DEEP = 14, THETA2 = 0.8;

function random(seed) { // xorshift: the same drawing every time
  let s = seed | 1;
  return () => { s ^= s << 13; s ^= s >>> 17; s ^= s << 5; return ((s >>> 0) % 100000) / 100000; };
}

export function layout(edges, seeds) {
  const index = new Map(), names = [];
  const id = (name) => { if (!index.has(name)) { index.set(name, names.length); names.push(name); } return index.get(name); };
  seeds.forEach(id);
  const pairs = [], known = new Set();
  for (const e of edges) {
    const a = id(e.src), b = id(e.dst), key = a < b ? a * 1e6 + b : b * 1e6 + a;
    if (a !== b && !known.has(key)) { known.add(key); pairs.push(a, b); }
  }
  const n = names.length, x = new Float32Array(n), y = new Float32Array(n), next = random(7);
  for (let i = 0; i < n; i++) {
    const angle = i * 2.39996, far = (i < seeds.length ? 0.04 : 0.12 + 0.8 * Math.sqrt(i / n)) * SIZE / 2;
    x[i] = SIZE / 2 + Math.cos(angle) * far + next();
    y[i] = SIZE / 2 + Math.sin(angle) * far + next();
  }
  const most = (DEEP + 2) * n + 8; // squares: a node opens one for each level and one more at most
  return { names, index, pairs, x, y, n, near: 0.7 * SIZE / Math.sqrt(n || 1), step: 0,
    tree: { child: new Int32Array(4 * most), mass: new Float32Array(most), sx: new Float32Array(most), sy: new Float32Array(most), wide: new Float32Array(most), body: new Int32Array(most), inner: new Uint8Array(most) } };
}

// The tree of squares over all nodes; square 0 is the whole.
function plant(g) {
  const { n, x, y, tree: t } = g, whole = SIZE * 2;
  let used = 0;
  const square = (wide) => { const q = used++; t.child.fill(0, 4 * q, 4 * q + 4); t.mass[q] = t.sx[q] = t.sy[q] = 0; t.wide[q] = wide; t.body[q] = -1; t.inner[q] = 0; return q; };
  const put = (q, i) => { t.mass[q]++; t.sx[q] += x[i]; t.sy[q] += y[i]; };
  square(whole);
  for (let i = 0; i < n; i++) {
    let q = 0, cx = SIZE / 2, cy = SIZE / 2, half = whole / 2;
    for (let depth = 0; ; depth++) {
      put(q, i);
      if (t.mass[q] === 1) { t.body[q] = i; break; }
      if (depth === DEEP - 1) break; // at one place: they count together
      if (t.body[q] >= 0) { // the one that was here alone goes one level down
        const j = t.body[q], down = square(half);
        t.body[q] = -1;
        t.inner[q] = 1;
        t.child[4 * q + Number(x[j] > cx) + 2 * Number(y[j] > cy)] = down;
        put(down, j);
        t.body[down] = j;
      }
      const right = x[i] > cx, low = y[i] > cy, k = 4 * q + Number(right) + 2 * Number(low);
      if (t.child[k] === 0) t.child[k] = square(half);
      q = t.child[k];
      half /= 2;
      cx += right ? half : -half;
      cy += low ? half : -half;
    }
  }
}

export function advance(g) {
  const { n, x, y, pairs, near, tree: t } = g, heat = (1 - g.step / STEPS) * near * 1.2;
  const dx = new Float32Array(n), dy = new Float32Array(n), stack = new Int32Array(4 * DEEP);
  plant(g);
  for (let i = 0; i < n; i++) {
    let top = 0;
    stack[top++] = 0;
    while (top > 0) {
      const q = stack[--top], m = t.mass[q];
      if (t.body[q] === i) continue;
      const ax = x[i] - t.sx[q] / m, ay = y[i] - t.sy[q] / m, d = ax * ax + ay * ay;
      if (t.inner[q] && t.wide[q] * t.wide[q] > THETA2 * d) {
        for (let k = 4 * q; k < 4 * q + 4; k++) if (t.child[k] !== 0) stack[top++] = t.child[k];
        continue;
      }
      const f = (near * near * m) / (d + 1);
      dx[i] += ax * f;
      dy[i] += ay * f;
    }
    dx[i] += (SIZE / 2 - x[i]) * 0.08 * near; // what hangs on nothing stays in sight
    dy[i] += (SIZE / 2 - y[i]) * 0.08 * near;
  }
  for (let k = 0; k < pairs.length; k += 2) {
    const a = pairs[k], b = pairs[k + 1], ax = x[a] - x[b], ay = y[a] - y[b], f = Math.sqrt(ax * ax + ay * ay) / near;
    dx[a] -= ax * f; dy[a] -= ay * f; dx[b] += ax * f; dy[b] += ay * f;
  }
  for (let i = 0; i < n; i++) {
    const d = Math.sqrt(dx[i] * dx[i] + dy[i] * dy[i]) || 1, m = Math.min(d, heat) / d;
    x[i] = Math.min(SIZE * 1.5, Math.max(-SIZE / 2, x[i] + dx[i] * m));
    y[i] = Math.min(SIZE * 1.5, Math.max(-SIZE / 2, y[i] + dy[i] * m));
  }
  if (++g.step < STEPS) return false;
  fit(x);
  fit(y);
  return true;
}

// To the whole of the picture, but for a margin.
function fit(v) {
  const lo = Math.min(...v), hi = Math.max(...v), scale = hi > lo ? (SIZE - 80) / (hi - lo) : 0;
  for (let i = 0; i < v.length; i++) v[i] = hi > lo ? 40 + (v[i] - lo) * scale : SIZE / 2;
}

// Of no more than 2,000 edges, and it says so. options: {seeds, onnode(uid), height}
export function drawing(all, options = {}) {
  const edges = all.slice(0, EDGES), seeds = options.seeds ?? [], g = layout(edges, seeds), canvas = el("canvas", { role: "img", tabindex: "0",
    "aria-label": `${g.n} entities, ${edges.length} edges between them; the table has the same` });
  const box = el("div", { class: "canvas" }, canvas, all.length > EDGES ? el("p", { class: "small" }, `Drawn are the first ${count(EDGES)} of ${count(all.length)} edges; the table has all.`) : null), out = { box, ms: null, done: null };
  const begun = performance.now();
  const style = () => getComputedStyle(document.documentElement);

  function paint() {
    const width = box.clientWidth || 700, height = options.height ?? Math.min(560, Math.max(280, width * 0.62)), ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const c = canvas.getContext("2d"), css = style(), fx = width / SIZE, fy = height / SIZE;
    c.scale(ratio, ratio);
    c.clearRect(0, 0, width, height);
    c.strokeStyle = css.getPropertyValue("--faint");
    c.globalAlpha = edges.length > 400 ? 0.25 : 0.55;
    c.lineWidth = 1;
    c.beginPath();
    for (let k = 0; k < g.pairs.length; k += 2) {
      c.moveTo(g.x[g.pairs[k]] * fx, g.y[g.pairs[k]] * fy);
      c.lineTo(g.x[g.pairs[k + 1]] * fx, g.y[g.pairs[k + 1]] * fy);
    }
    c.stroke();
    c.globalAlpha = 1;
    const radius = g.n > 300 ? 2.5 : 5;
    for (let i = g.n - 1; i >= 0; i--) {
      c.fillStyle = css.getPropertyValue(i < seeds.length ? "--sand" : "--v1");
      c.beginPath();
      c.arc(g.x[i] * fx, g.y[i] * fy, i < seeds.length ? radius + 2 : radius, 0, 7);
      c.fill();
    }
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = css.getPropertyValue("--ink");
    for (let i = 0; i < g.n && (g.n <= LABELS || i < seeds.length); i++) c.fillText(g.names[i].slice(0, 28), g.x[i] * fx + radius + 3, g.y[i] * fy + 4);
  }
  canvas.addEventListener("click", (e) => {
    const r = canvas.getBoundingClientRect(), px = ((e.clientX - r.left) / r.width) * SIZE, py = ((e.clientY - r.top) / r.height) * SIZE;
    let best = -1, far = 900;
    for (let i = 0; i < g.n; i++) { const d = (g.x[i] - px) ** 2 + (g.y[i] - py) ** 2; if (d < far) { far = d; best = i; } }
    if (best >= 0) options.onnode?.(g.names[best]);
  });
  out.done = new Promise((resolve) => {
    const slice = () => {
      const until = performance.now() + SLICE;
      let still = g.n > 0;
      while (still && performance.now() < until) still = !advance(g);
      if (still) { setTimeout(slice); return; }
      paint();
      out.ms = performance.now() - begun;
      canvas.dataset.ms = String(Math.round(out.ms));
      resolve(out);
    };
    requestAnimationFrame(slice);
  });
  new ResizeObserver(() => { if (out.ms !== null) paint(); }).observe(box);
  document.addEventListener("themechange", () => { if (box.isConnected && out.ms !== null) paint(); });
  return out;
}
