// A series as bars or a line.
import { svg, day, when, count } from "./dom.js";

const H = 220, L = 52, B = 26;
const width = () => Math.max(280, Math.min(1100, (document.getElementById("main")?.clientWidth ?? 760) - 80));
const tick = (v) => (Math.abs(v) >= 100 || Number.isInteger(v) ? count(Math.round(v)) : Number(v.toPrecision(3)).toString());

// points: [{from, to, value}]
export function series(points, name) {
  const W = width();
  const values = points.map((p) => Number(p.value ?? 0));
  const top = Math.max(1e-9, ...values), lo = Number(points[0].from), hi = Number(points.at(-1).to ?? points.at(-1).from) || lo + 1;
  const x = (t) => L + ((Number(t) - lo) / (hi - lo || 1)) * (W - L - 8);
  const y = (v) => H - B - (v / top) * (H - B - 12);
  const marks = points.map((p, i) => {
    const left = x(p.from), wide = Math.max(1, x(p.to ?? p.from) - left - (points.length > 160 ? 0 : 1));
    return svg("rect", { class: "bar", x: left, y: y(values[i]), width: wide, height: Math.max(0, H - B - y(values[i])) },
      svg("title", null, `${when(p.from)} – ${when(p.to)}: ${values[i]}`));
  });
  const ticks = [0, top / 2, top].map((v) => [svg("line", { class: "grid", x1: L, x2: W - 8, y1: y(v), y2: y(v) }),
    svg("text", { x: L - 6, y: y(v) + 4, "text-anchor": "end" }, tick(v))]);
  const days = (W < 500 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((f) => svg("text", { x: L + f * (W - L - 8), y: H - 8, "text-anchor": f === 0 ? "start" : f === 1 ? "end" : "middle" }, day(lo + f * (hi - lo))));
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${name}: ${points.length} values, the largest ${top}` }, ticks, marks, days);
}

// A few numbers by name.
export function bars(pairs, name) {
  const W = Math.min(760, width());
  const top = Math.max(1e-9, ...pairs.map(([, v]) => Number(v))), h = 22;
  return svg("svg", { viewBox: `0 0 ${W} ${pairs.length * h + 4}`, role: "img", "aria-label": name },
    pairs.map(([label, v], i) => [svg("text", { x: 150, y: i * h + 15, "text-anchor": "end" }, String(label).slice(0, 24)),
      svg("rect", { class: "bar", x: 158, y: i * h + 4, height: h - 7, width: Math.max(1, (Number(v) / top) * (W - 250)) }),
      svg("text", { x: 166 + (Number(v) / top) * (W - 250), y: i * h + 15 }, count(v))]));
}
