// Change one value of an answer, or of a result it rests on, and see the verifier name it.
import { el, put, facts, status, plain } from "./dom.js";
import { get, post, failed } from "./api.js";
import { ErrorCard } from "./errors.js";
import { load } from "./evidence.js";
import { write } from "./json.js";

export function view(app) {
  const state = app.state(), choose = el("select", { id: "tamper-which" }), out = el("div"), node = el("section", null, el("h1", null, "Tamper"),
    el("p", { class: "lead" }, "A bundle holds an answer with everything it rests on: plan, calls, results, digests. Change any one value; the same verifier that gated the answer says what no longer fits. Nothing on the server changes."),
    el("label", null, "Answer", choose), out);

  async function start() {
    const kept = await get("/api/traces");
    const list = failed(kept) ? [] : kept.traces;
    if (list.length === 0) { put(out, el("div", { class: "card note" }, "There is no answer yet. ", el("a", { href: "#ask" }, "Ask something first."))); return; }
    put(choose, list.map((t) => el("option", { value: t.id }, t.question)));
    if (list.some((t) => t.id === state.id)) choose.value = state.id;
    open();
  }
  async function open() {
    const bundle = await load(choose.value);
    if (bundle === null) { put(out, el("div", { class: "card error" }, "This answer has left the server's table.")); return; }
    app.remember({ id: choose.value });
    put(out, Workbench(bundle));
    check(bundle.text);
  }
  async function check(text, what) {
    const verdict = out.querySelector("#verdict");
    const result = await post("/api/verify", '{"bundle":' + text + "}");
    put(verdict, failed(result) ? ErrorCard(result) : Verdict(result, what));
  }

  // Values that a person would want to change: of the answer, and of the results behind it.
  function Workbench(bundle) {
    const places = [];
    const walk = (value, path, depth) => {
      if (places.length > 400 || depth > 6) return;
      if (value !== null && typeof value === "object" && !("raw" in value)) {
        const keys = Array.isArray(value) ? value.slice(0, 12).map((_, i) => i) : Object.keys(value);
        for (const k of keys) walk(value[k], [...path, k], depth + 1);
      } else places.push({ path, value });
    };
    walk(bundle.tree.answer, ["answer"], 0);
    for (const d of Object.keys(bundle.tree.payloads)) walk(bundle.tree.payloads[d], ["payloads", d], 0);
    walk(bundle.tree.question, ["question"], 0);
    walk(bundle.tree.as_of_tt, ["as_of_tt"], 0);
    const name = (p) => p.path.map((x) => (typeof x === "string" && /^[0-9a-f]{64}$/.test(x) ? x.slice(0, 8) + "…" : x)).join(" › ");
    const which = el("select", { id: "tamper-place", size: 8 }, places.map((p, i) => el("option", { value: i }, `${name(p)} = ${plain(p.value).slice(0, 60)}`)));
    const to = el("input", { id: "tamper-to", autocomplete: "off" });
    const current = () => places[Number(which.value)];
    const fresh = () => { const p = current(); if (p) to.value = plausible(p.value); };
    which.addEventListener("change", fresh);
    which.value = String(Math.max(0, places.findIndex((p) => p.path[0] === "answer" && (p.path.includes("value") || p.path.includes("uids")))));
    fresh();
    async function change() {
      const p = current(), copy = structuredClone(bundle.tree);
      let at = copy;
      for (const k of p.path.slice(0, -1)) at = at[k];
      const last = p.path.at(-1), was = at[last];
      at[last] = typeof was === "string" ? to.value : was !== null && typeof was === "object" ? { raw: to.value } : typeof was === "number" ? (Number.isNaN(Number(to.value)) ? to.value : Number(to.value)) : to.value === "true" ? true : to.value === "false" ? false : to.value === "null" ? null : to.value;
      await check(write(copy), `${name(p)}: ${plain(was)} → ${plain(at[last])}`);
    }
    return [el("div", { class: "two" }, el("div", { class: "card" }, el("label", null, "Value to change", which), el("label", null, "New value", to),
        el("div", { class: "row" }, el("button", { type: "button", class: "main", id: "tamper-go", onclick: change }, "Change it, and verify"),
          el("button", { type: "button", onclick: () => check(bundle.text) }, "Put it back"))), el("div", { id: "verdict", "aria-live": "polite" })), el("p", { class: "small" }, bundle.tree.answer.text)];
  }
  choose.addEventListener("change", open);
  start();
  return { node, focus: () => choose.focus() };
}

function plausible(value) {
  if (typeof value === "number") return String(value + 1);
  if (typeof value === "string") return /^n\d+$/.test(value) ? "n" + (Number(value.slice(1)) + 1) : /\d/.test(value) ? value.replace(/\d/, (d) => String((Number(d) + 1) % 10)) : value + " indeed";
  return value === true ? "false" : value === false ? "true" : plain(value);
}

function Verdict(r, what) {
  const faults = r.faults ?? [], claims = r.report?.claims ?? [], bad = claims.filter((c) => c.verdict !== "supported"), sound = faults.length === 0 && bad.length === 0;
  return el("div", { class: "card " + (sound ? "fine" : "error") }, what ? el("p", { class: "mono" }, what) : null,
    el("p", { class: "answer" }, sound ? (what ? "Nothing that is checked rests on this value." : "Every digest and every claim is right.") : "Caught."),
    faults.length ? el("ul", { class: "claims" }, faults.map((f) => el("li", null, el("span", { class: "status refused" }, "✗"), " ", typeof f === "string" ? f : f.message ?? plain(f), f.path || f.place ? el("code", null, " ", f.path ?? f.place) : null))) : null,
    facts(claims.map((c) => [c.id, [status(c.verdict), " ", c.reason ?? (c.reasons ?? []).join(", ")]])));
}
