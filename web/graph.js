// A drawing of edges. Nodes begin in rings around the seeds and are pushed apart and pulled together in slices of a few
// milliseconds, always the same way for the same edges; near nodes are found by a grid, so a step is linear in size.
import { el } from "./dom.js";

const SIZE = 1000, STEPS = 90, SLICE = 12, LABELS = 60;

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
  const n = names.length, x = new Float32Array(n), y = new Float32Array(n), next = random(7), wide = Math.sqrt(n) || 1;
  for (let i = 0; i < n; i++) {
    const angle = i * 2.39996, far = (i < seeds.length ? 0.04 : 0.12 + 0.8 * Math.sqrt(i / n)) * SIZE / 2;
    x[i] = SIZE / 2 + Math.cos(angle) * far + next();
    y[i] = SIZE / 2 + Math.sin(angle) * far + next();
  }
  return { names, index, pairs, x, y, n, near: SIZE / wide, step: 0 };
}

export function advance(g) {
  const { n, x, y, pairs, near } = g, cells = Math.max(1, Math.floor(SIZE / near)), heat = (1 - g.step / STEPS) * near * 0.35;
  const dx = new Float32Array(n), dy = new Float32Array(n), heads = new Int32Array(cells * cells).fill(-1), chain = new Int32Array(n);
  const cell = (v) => Math.min(cells - 1, Math.max(0, Math.floor(v / near)));
  for (let i = 0; i < n; i++) { const c = cell(y[i]) * cells + cell(x[i]); chain[i] = heads[c]; heads[c] = i; }
  for (let i = 0; i < n; i++) {
    const cx = cell(x[i]), cy = cell(y[i]);
    for (let gy = Math.max(0, cy - 1); gy <= Math.min(cells - 1, cy + 1); gy++)
      for (let gx = Math.max(0, cx - 1); gx <= Math.min(cells - 1, cx + 1); gx++)
        for (let j = heads[gy * cells + gx], seen = 0; j >= 0 && seen < 40; j = chain[j], seen++) {
          if (j === i) continue;
          const ax = x[i] - x[j] || 0.01, ay = y[i] - y[j] || 0.01, d = ax * ax + ay * ay;
          if (d < near * near * 2.2) { const f = (near * near) / (d + 1) ; dx[i] += ax * f * 0.4; dy[i] += ay * f * 0.4; }
        }
    dx[i] += (SIZE / 2 - x[i]) * 0.02;
    dy[i] += (SIZE / 2 - y[i]) * 0.02;
  }
  for (let k = 0; k < pairs.length; k += 2) {
    const a = pairs[k], b = pairs[k + 1], ax = x[a] - x[b], ay = y[a] - y[b], d = Math.sqrt(ax * ax + ay * ay) || 0.01, f = (d / near) * 0.06;
    dx[a] -= ax * f; dy[a] -= ay * f; dx[b] += ax * f; dy[b] += ay * f;
  }
  for (let i = 0; i < n; i++) {
    const d = Math.sqrt(dx[i] * dx[i] + dy[i] * dy[i]) || 1, m = Math.min(d, heat) / d;
    x[i] = Math.min(SIZE - 8, Math.max(8, x[i] + dx[i] * m));
    y[i] = Math.min(SIZE - 8, Math.max(8, y[i] + dy[i] * m));
  }
  return ++g.step >= STEPS;
}

// options: {seeds, onnode(uid), height}
export function drawing(edges, options = {}) {
  const seeds = options.seeds ?? [], g = layout(edges, seeds), canvas = el("canvas", { role: "img", tabindex: "0",
    "aria-label": `${g.n} entities, ${edges.length} edges between them; the table has the same` });
  const box = el("div", { class: "canvas" }, canvas), out = { box, ms: null, done: null };
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
