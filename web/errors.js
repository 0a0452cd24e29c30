// An error, with what to do about it; a refusal for its cost has offers that would be let through.
import { el, facts, plain } from "./dom.js";

export function ErrorCard(body, onoffer) {
  const d = body.details ?? {}, offers = d.counter_offers ?? d.offers ?? [];
  return el("div", { class: "card error", role: "alert" }, el("p", null, el("span", { class: "status refused" }, "✗ ", body.error), " ", body.message),
    facts([d.path ? ["where", el("code", null, Array.isArray(d.path) ? d.path.join(" › ") : plain(d.path))] : null, d.hint ? ["what to do", d.hint] : null,
      d.estimate ? ["estimate", el("code", null, plain(d.estimate))] : null, d.exceeded ? ["above", el("code", null, plain(d.exceeded))] : null]),
    offers.length ? [el("p", { class: "small" }, "Would be let through:"), el("ul", { class: "chips" }, offers.map((o) => el("li", null,
      el("button", { type: "button", class: "offer", onclick: () => onoffer?.(o) }, plain(o)))))] : null);
}
