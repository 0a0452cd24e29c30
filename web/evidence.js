// What a claim rests on: the step, its call, its digest, what is complete, and exactly the rows that are cited.
import { el, facts, plain, status, when } from "./dom.js";
import { table } from "./table.js";
import { parse, write } from "./json.js";
import { bundleText } from "./api.js";

const kept = new Map(); // bundles by id; the newest few

export async function load(id) {
  if (!kept.has(id)) {
    const text = await bundleText(id);
    if (text === null) return null;
    kept.set(id, { text, tree: parse(text) });
    if (kept.size > 8) kept.delete(kept.keys().next().value);
  }
  return kept.get(id);
}

export function stepsOf(bundle) {
  const trace = bundle.trace ?? {};
  return (trace.steps ?? []).map((s) => ({ ...s, call: bundle.calls?.[s.call_digest], payload: bundle.payloads?.[s.result_digest] }));
}

// "s2.rows[*].src": the step, and the parts behind it.
export function pathOf(text) {
  const found = /^(s\d+)\.?(.*)$/.exec(text ?? "");
  if (!found) return null;
  return { step: found[1], parts: [...found[2].matchAll(/([A-Za-z_][\w]*)|\[(\d+|\*)\]/g)].map((m) => m[1] ?? (m[2] === "*" ? "*" : Number(m[2]))) };
}

// The list in the payload that the path goes into, and which of its rows it names.
export function cited(payload, parts) {
  if (!payload || parts.length === 0) return null;
  const list = payload[parts[0]];
  if (Array.isArray(list)) return { name: parts[0], list, only: typeof parts[1] === "number" ? parts[1] : null, member: parts.find((p, i) => i > 0 && typeof p === "string" && p !== "*") };
  if (/_total$/.test(String(parts[0])) && Array.isArray(payload[String(parts[0]).slice(0, -6)])) {
    const name = String(parts[0]).slice(0, -6);
    return { name, list: payload[name], only: null, member: null, total: payload[parts[0]] };
  }
  return { name: parts[0], value: list };
}

export function gaps(completeness) {
  const entries = Object.entries(completeness ?? {});
  if (entries.length === 0) return el("span", { class: "status supported" }, "✓ complete");
  return el("span", null, entries.map(([field, reasons]) => el("span", { class: "status" }, `≈ ${field}: `,
    reasons.map((r) => `${r.reason}${r.total !== undefined ? ` (${plain(r.shown)} of ${plain(r.total)})` : ""}`).join(", "))));
}

export function panel(bundle, claim) {
  const path = pathOf(claim.from ?? claim.num ?? claim.left), steps = stepsOf(bundle);
  const step = steps.find((s) => (s.step_id ?? s.id) === (path?.step ?? claim.evidence?.[0]));
  if (!step) return el("div", { class: "card error" }, "The step that this claim cites is not in the bundle.");
  const place = cited(step.payload, path?.parts ?? []), belief = step.call?.as_of_tt;
  return el("div", { class: "card evidence" },
    el("h3", null, `Step ${step.step_id ?? step.id}: ${step.call?.op ?? step.op}`),
    facts([["cites", el("code", null, claim.from ?? (claim.evidence ?? []).join(", "))],
      belief !== null && belief !== undefined ? ["believed at", [when(belief?.raw ?? belief), " ", el("span", { class: "us" }, plain(belief))]] : null,
      ["completeness", gaps(step.completeness ?? step.call?.completeness)],
      ["result digest", el("code", null, step.result_digest)], ["call digest", el("code", null, step.call_digest)]]),
    inputs(bundle, step),
    el("details", null, el("summary", null, "Arguments of the call"), el("pre", null, JSON.stringify(JSON.parse(plain(step.call?.args ?? {})), null, 2))),
    place?.list ? rows(place, claim) : place ? el("pre", null, `${place.name} = ${plain(place.value)}`) : null);
}

// The steps that this one computed from.
function inputs(bundle, step) {
  const plan = (bundle.plan?.steps ?? []).find((s) => s.id === (step.step_id ?? step.id));
  const names = plan?.depends_on ?? [];
  return names.length === 0 ? null : stepsOf(bundle).filter((s) => names.includes(s.step_id ?? s.id)).map((s) => el("details", null,
    el("summary", null, `computed from step ${s.step_id ?? s.id}: ${s.call?.op ?? s.op} `, gaps(s.completeness ?? s.call?.completeness)),
    el("pre", null, JSON.stringify(JSON.parse(plain(s.call?.args ?? {})), null, 2)), Array.isArray(s.payload?.rows) ? table(s.payload.rows, { caption: `${s.payload.rows.length} rows` }) : null));
}

function rows(place, claim) {
  const named = new Set(claim.uids ?? (typeof claim.value === "string" ? [claim.value] : claim.uid ? [claim.uid] : []));
  const hit = (row, i) => (place.only !== null ? i === place.only : place.member && named.size ? named.has(row?.[place.member]) : typeof row === "string" && named.has(row));
  const exact = place.only !== null ? [place.list[place.only]] : place.list;
  return [el("p", { class: "small" }, place.only !== null ? `Row ${place.only + 1} of ${place.list.length} is cited.`
      : place.total !== undefined ? `The length of this list is cited: ${plain(place.total)}.` : place.list.length === 1 ? "The only row is cited." : `All ${place.list.length} rows are cited.`),
    table(exact.filter((r) => r !== undefined), { hit: place.only !== null ? null : hit, caption: `${place.name} of the result` }),
    place.only !== null && place.list.length > 1 ? el("details", null, el("summary", null, `all ${place.list.length} rows of the result`), table(place.list, { hit })) : null];
}

export function claimText(claim) {
  const value = claim.uids ? claim.uids.slice(0, 6).join(", ") + (claim.uids.length > 6 ? ` and ${claim.uids.length - 6} more` : "") : claim.interval
    ? `${when(claim.interval.start?.raw ?? claim.interval.start)} – ${when(claim.interval.end?.raw ?? claim.interval.end)}` : claim.value !== undefined ? plain(claim.value) : claim.text ?? "";
  return `${claim.type?.replaceAll("_", " ")}: ${value}`;
}

// A list of claims; each opens its evidence below.
export function claims(list, id) {
  const below = el("div", { "aria-live": "polite" });
  const buttons = list.map((claim) => {
    const button = el("button", { type: "button", class: `claim is-${claim.verdict}`, "aria-expanded": "false", "data-claim": claim.id },
      status(claim.verdict), el("span", null, claimText(claim)), el("span", { class: "small mono" }, claim.from ?? ""));
    button.addEventListener("click", async () => {
      const open = button.getAttribute("aria-expanded") === "true";
      buttons.forEach((b) => b.setAttribute("aria-expanded", "false"));
      below.replaceChildren();
      if (open) return;
      button.setAttribute("aria-expanded", "true");
      const bundle = await load(id);
      below.replaceChildren(bundle ? panel(bundle.tree, claim) : el("div", { class: "card error" }, "The evidence has left the server's table: ask again."));
    });
    return button;
  });
  return [el("ul", { class: "claims" }, buttons.map((b) => el("li", null, b))), below];
}
export { write };
