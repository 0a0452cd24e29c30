// The server of the product, asked by the official SDK clients: what is offered, every operator's example, and that times and
// identities survive a client whose numbers are doubles.
//
//   product.mjs MERKHET STORE [URL]      over stdio, or over HTTP at URL

import { execFileSync } from "node:child_process";

import { KINDS, call, connect, isModern, until, watch } from "./clients.mjs";
import { check, done, label, refused, same } from "./tap.mjs";

const [merkhet, store, url] = process.argv.slice(2);
const target = url ? { url } : { command: merkhet, args: ["mcp", "--store", store] };
const CARD = "merkhet://dataset/card";
const OPEN = 4611686018427387904; // 2^62, as a double

const examples = [...execFileSync(merkhet, ["ops", "--all"], { encoding: "utf8" })
  .matchAll(/^ {2}merkhet call ([a-z_]+) '(.*)'$/gm)].map(([, op, args]) => [op, JSON.parse(args)]);

// All members of a value that are called like one of the names.
function* members(value, names) {
  if (value === null || typeof value !== "object") return;
  for (const [key, inner] of Object.entries(value)) {
    if (names.test(key) && (inner === null || typeof inner !== "object")) yield [key, inner];
    yield* members(inner, names);
  }
}

function* numbers(value) {
  if (typeof value === "number") yield value;
  else if (value !== null && typeof value === "object") for (const inner of Object.values(value)) yield* numbers(inner);
}

async function offered(kind, client) {
  same(`${kind}: the server's name`, client.getServerVersion()?.name, "merkhet");
  check(`${kind}: it says how to use it`, (client.getInstructions() ?? "").includes("as_of_tt"));
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name);
  same(`${kind}: tools come sorted`, names, [...names].sort());
  same(`${kind}: every operator is a tool`, examples.map(([op]) => op).filter((op) => !names.includes(op)), []);
  check(`${kind}: every tool says what it is`, tools.every((t) => t.title && t.description && t.annotations?.readOnlyHint === true));
}

// The SDK validates structuredContent against outputSchema; what is left is that text and structure say the same, and that no
// number is one that a double cannot hold.
async function operators(kind, client) {
  const results = [];
  for (const [op, args] of examples) {
    const result = await call(kind, client, op, args);
    const structured = result.structuredContent;
    results.push(structured);
    check(`${kind}: the example of ${op}`, !result.isError && structured?.op === op && /^[0-9a-f]{64}$/.test(structured.result_digest),
          result);
    same(`${kind}: text and structure of ${op} say the same`, JSON.parse(result.content[0].text), structured);
    check(`${kind}: the numbers of ${op} are exact in JavaScript`,
          [...numbers(structured)].every((n) => !Number.isInteger(n) || Number.isSafeInteger(n)), structured);
    same(`${kind}: what ${op} understood, given back, means the same`,
         (await call(kind, client, op, structured.args_echo)).structuredContent?.result_digest, structured.result_digest);
  }
  return results;
}

async function roundTrip(kind, client, results) {
  const times = new Set(), uids = new Set();
  for (const result of results) {
    for (const [, value] of members(result, /^(vt_s|vt_e|tt_s|tt_e|earliest_arrival|t_a|t_b)$/)) times.add(value);
    for (const [, value] of members(result, /^(uid|src|dst)$/)) uids.add(value);
  }
  check(`${kind}: there are times to give back, open ends too`, times.size > 5 && times.has(null), [...times]);
  const echoed = async (args) => (await call(kind, client, "version_history", { kind: "edge", belief: "all", ...args })).structuredContent?.args_echo;
  const wrong = [];
  for (const time of times) {
    const window = (await echoed({ window: { t_a: 0, t_b: time === 0 ? 1 : time } }))?.window;
    if (window?.t_b !== (time === 0 ? 1 : time)) wrong.push(time);
    if (time !== null && (await echoed({ window: { t_a: 0, t_b: 1 }, as_of_tt: time }))?.as_of_tt !== time) wrong.push(time);
  }
  same(`${kind}: each time comes back as it was given`, wrong, []);
  same(`${kind}: the open end as JavaScript prints it is still open`, (await echoed({ window: { t_a: 0, t_b: OPEN } }))?.window.t_b, null);
  same(`${kind}: a time as text, a float or a date is that time`,
       (await Promise.all(["25", 25.0, "1970-01-01T00:00:00.000025Z"].map((t_b) => echoed({ window: { t_a: 0, t_b } })))).map((e) => e?.window.t_b), [25, 25, 25]);
  for (const uid of [...uids].filter((u) => u !== null))
    same(`${kind}: the identity ${uid} comes back`, (await call(kind, client, "entity_history", { uid })).structuredContent?.args_echo.uid, uid);
  const big = (await call(kind, client, "entity_history", { uid: "p17" })).structuredContent?.rows[0].props.big;
  same(`${kind}: an integer beyond 2^53 is text`, big, "9007199254740993");
}

async function pages(kind, client) {
  const first = (await call(kind, client, "version_history", { kind: "edge", belief: "all", window: { t_a: 0, t_b: 100 }, limit: 2 })).structuredContent;
  const next = (await call(kind, client, "version_history", { ...first.args_echo, cursor: first.cursor })).structuredContent;
  check(`${kind}: a page and the next`, first.truncated && first.rows.length === 2 && next.rows.length > 0 &&
        !next.rows.some((row) => first.rows.some((other) => other.vid === row.vid)), { first, next });
  const foreign = await call(kind, client, "version_history", { kind: "node", belief: "all", window: { t_a: 0, t_b: 100 }, cursor: first.cursor });
  check(`${kind}: a cursor of another call is refused`, foreign.isError && foreign.content[0].text.includes("E_INVALID_ARG"), foreign);
  return first;
}

async function errors(kind, client) {
  const wrong = await call(kind, client, "entity_history", { uid: "a", limit: "many" });
  const text = JSON.parse(wrong.content[0].text);
  check(`${kind}: a wrong argument is a tool error with its place`, wrong.isError && text.error === "E_SCHEMA" &&
        JSON.stringify(text.details).includes("limit") && wrong.structuredContent === undefined, wrong);
  const missing = await call(kind, client, "snapshot_subgraph", { seeds: ["nobody"], t_valid: 1 });
  check(`${kind}: an unknown entity is one too`, missing.isError && missing.content[0].text.includes("E_NOT_FOUND"), missing);
  await refused(`${kind}: an unknown tool is a protocol error that names near ones`, call(kind, client, "entity_histori", {}),
                (e) => e.code === -32602 && e.message.includes("entity_history"));
}

async function resources(kind, client, page) {
  const uris = (await client.listResources()).resources.map((r) => r.uri);
  check(`${kind}: the card and the manual are resources`, uris.includes(CARD) && uris.includes("merkhet://manual"), uris);
  const card = JSON.parse((await client.readResource({ uri: CARD })).contents[0].text);
  check(`${kind}: the card tells of labels`, JSON.stringify(card).includes('"N"'), card);
  const templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
  check(`${kind}: results are a template`, templates.includes("merkhet://result/{digest}"), templates);
  const bytes = (await client.readResource({ uri: `merkhet://result/${page.result_digest}` })).contents[0].text;
  same(`${kind}: the bytes of a result give its digest`,
       (await import("node:crypto")).createHash("sha256").update(bytes).digest("hex"), page.result_digest);
  check(`${kind}: a page of the manual`, (await client.readResource({ uri: "merkhet://manual/compute" })).contents[0].text.includes("compute"));
  await refused(`${kind}: an unknown resource`, client.readResource({ uri: "merkhet://nothing" }), (e) => e.message.includes("not found"));
  const { code, data } = client.seen.findLast((m) => m.error).error; // the newer SDK changes the code
  same(`${kind}: by the code of its era`, [code, data], [isModern(kind) ? -32602 : -32002, { uri: "merkhet://nothing" }]);
}

async function prompts(kind, client) {
  same(`${kind}: prompts`, (await client.listPrompts()).prompts.map((p) => p.name).sort(), ["ask_with_evidence", "compare_beliefs", "entity_timeline"]);
  const got = await client.getPrompt({ name: "entity_timeline", arguments: { entity: "Ann" } });
  check(`${kind}: a prompt with its argument`, got.messages[0].content.text.includes("Ann"), got);
  await refused(`${kind}: a prompt without it`, client.getPrompt({ name: "entity_timeline", arguments: {} }), (e) => e.code === -32602);
  const completed = await client.complete({ ref: { type: "ref/prompt", name: "entity_timeline" }, argument: { name: "entity", value: "An" } });
  same(`${kind}: an entity's name is completed`, completed.completion.values, ["Ann"]);
  const ops = await client.complete({ ref: { type: "ref/resource", uri: "merkhet://manual/{op}" }, argument: { name: "op", value: "temporal_" } });
  check(`${kind}: and an operator's`, ops.completion.values.includes("temporal_paths") && ops.completion.hasMore === false, ops);
}

async function alongTheWay(kind, client) {
  client.seen.length = 0;
  await call(kind, client, "ask", { question: "How many events are there on 1970-01-01?" }, { onprogress: () => {} });
  const reports = client.seen.filter((m) => m.method === "notifications/progress").map((m) => m.params.progress);
  check(`${kind}: progress grows`, reports.length > 1 && reports.every((p, i) => i === 0 || p > reports[i - 1]), reports);
  if (isModern(kind)) return;
  await client.ping();
  await client.setLoggingLevel("error");
  await refused(`${kind}: a level that is none`, client.request({ method: "logging/setLevel", params: { level: "loud" } },
                kind === "v1" ? (await import("@modelcontextprotocol/sdk/types.js")).EmptyResultSchema : undefined), (e) => e.code === -32602);
}

// A name that two have: who can be asked is asked which is meant, and who cannot is told both.
async function askedBack(kind, client, forms) {
  const question = { question: "Which nodes received events from Lee on 1970-01-01?" };
  const meant = await call(kind, client, "ask", question);
  check(`${kind}: an ambiguous name is asked back`, JSON.stringify(forms).includes('"enum":["p17","p52"]'), forms);
  same(`${kind}: and the answer is about who was chosen`, meant.structuredContent?.answer?.value, ["c"]);
  const silent = await connect(kind, target);
  const told = (await call(kind, silent, "ask", question)).structuredContent;
  same(`${kind}: who cannot be asked is told whom it could mean`, [told?.abstained, told?.candidates], [true, ["p17", "p52"]]);
  await silent.close();
}

async function changes(kind, client, updates) {
  const stop = await watch(kind, client, CARD);
  execFileSync(merkhet, ["assert", "--store", store, "-"], { input: `{"op":"assert_node","uid":"new-${kind}","label":"N","vt_s":40}\n` });
  check(`${kind}: a commit of another process is told`, await until(() => updates.includes(CARD)), updates);
  const rows = (await call(kind, client, "entity_history", { uid: `new-${kind}` })).structuredContent?.rows_total;
  same(`${kind}: and seen`, rows, 1);
  await stop();
}

async function run(kind) {
  const updates = [], forms = [];
  const client = await connect(kind, target, {
    capabilities: { elicitation: {} },
    handlers: {
      "notifications/resources/updated": (params) => updates.push(params.uri),
      "elicitation/create": (params) => {
        forms.push(params);
        return { action: "accept", content: { uid: "p52" } };
      },
    },
  });
  if (kind !== "v1") same(`${kind}: the era`, client.getProtocolEra(), isModern(kind) ? "modern" : "legacy");
  await offered(kind, client);
  await roundTrip(kind, client, await operators(kind, client));
  const page = await pages(kind, client);
  await errors(kind, client);
  await resources(kind, client, page);
  await prompts(kind, client);
  await alongTheWay(kind, client);
  await askedBack(kind, client, forms);
  await changes(kind, client, updates);
  // The SDK forgets a call before it has looked at the reports that came in one piece with the answer.
  same(`${kind}: the client took every message`, client.errors.filter((e) => !e.includes("progress notification for an unknown token")), []);
  await client.close();
}

label(url ? "HTTP" : "stdio");
for (const kind of KINDS) await run(kind);
done();
