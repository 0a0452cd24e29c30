// The fixture program, asked by the official SDK clients: what a call says and asks on its way. The suites of conformance.sh look
// at the same points message by message; here it is the clients' own handlers that answer.
//
//   fixture.mjs PROGRAM ARGUMENTS...     over stdio
//   fixture.mjs URL                      over HTTP

import { KINDS, call, connect, isModern, quiet, until, watch } from "./clients.mjs";
import { check, done, label, refused, same } from "./tap.mjs";

const [first, ...rest] = process.argv.slice(2);
const target = first.startsWith("http://") ? { url: first } : { command: first, args: rest };

const capabilities = { sampling: {}, elicitation: {}, roots: {} };

function answers(asked, came) {
  return {
    "sampling/createMessage": (params) => {
      asked.push(params);
      return { model: "none", role: "assistant", content: { type: "text", text: "It is Paris" } };
    },
    "elicitation/create": (params) => {
      asked.push(params);
      if (params.message === "no") return { action: "decline" };
      const content = {};
      for (const [name, schema] of Object.entries(params.requestedSchema.properties))
        content[name] = schema.default ?? (schema.type === "boolean" ? true : schema.type === "array" ? [] : schema.enum?.[0] ?? schema.oneOf?.[0].const ?? "Eve");
      return { action: "accept", content };
    },
    "roots/list": () => ({ roots: [{ uri: "file:///tmp/one", name: "one" }] }),
    "notifications/message": (params) => came.push(params),
    "notifications/tools/list_changed": () => came.push("tools"),
    "notifications/prompts/list_changed": () => came.push("prompts"),
    "notifications/resources/updated": (params) => came.push(params.uri),
  };
}

const textOf = (result) => result.content?.[0]?.text;

async function questions(kind, client, asked) {
  const said = textOf(await call(kind, client, "test_sampling", { prompt: "capital of France?" }));
  same(`${kind}: the client's model was asked`, said, "LLM response: It is Paris");
  same(`${kind}: with the prompt`, asked.at(-1).messages[0].content.text, "capital of France?");
  const form = textOf(await call(kind, client, "test_elicitation", { message: "who?" }));
  same(`${kind}: a form was filled in`, form, 'User response: action=accept, content={"email":"Eve","username":"Eve"}');
  check(`${kind}: a form may be declined`, textOf(await call(kind, client, "test_elicitation", { message: "no" })).includes("action=decline"));
  const defaults = textOf(await call(kind, client, "test_elicitation_sep1034_defaults", {}));
  check(`${kind}: defaults of every kind`, defaults.includes('{"age":30,"name":"John Doe","score":95.5,"status":"active","verified":true}'), defaults);
  check(`${kind}: choices of every kind`, textOf(await call(kind, client, "test_elicitation_sep1330_enums", {})).includes('"titledSingle":"value1"'));
  for (const [name, part] of [["elicitation", "Hello, Eve!"], ["sampling", "Paris"], ["list_roots", "file:///tmp/one"], ["request_state", "state-ok"],
    ["multiple_inputs", "file:///tmp/one"], ["multi_round", "Hello, Eve Eve!"], ["capabilities", "Paris"]])
    check(`${kind}: ${name}`, textOf(await call(kind, client, `test_input_required_result_${name}`, {}))?.includes(part));
  const prompt = await client.getPrompt({ name: "test_input_required_result_prompt" });
  check(`${kind}: a prompt may ask too`, prompt.messages[0].content.text.includes("Eve"), prompt);
}

async function progress(kind, client) {
  client.seen.length = 0; // the SDK's own handler misses what comes in one piece with the answer
  await call(kind, client, "test_tool_with_progress", {}, { onprogress: () => {} });
  const told = client.seen.filter((m) => m.method === "notifications/progress").map((m) => [m.params.progress, m.params.total]);
  same(`${kind}: progress is told while the call runs`, told, [[0, 100], [50, 100], [100, 100]]);
}

async function logging(kind, client, came) {
  const messages = () => came.filter((m) => m.level);
  await call(kind, client, "test_tool_with_logging", {});
  same(`${kind}: no log below the level that is set at first`, messages(), []);
  if (isModern(kind)) {
    await client.callTool({ name: "test_tool_with_logging", arguments: {}, _meta: { "io.modelcontextprotocol/logLevel": "info" } });
  } else {
    await client.setLoggingLevel("info");
    await call(kind, client, "test_tool_with_logging", {});
  }
  check(`${kind}: three when they are asked for`, await until(() => messages().length === 3), came);
}

async function cancellation(kind, client) {
  const stop = new AbortController();
  let steps = 0;
  const running = call(kind, client, "test_slow", {}, { signal: stop.signal, onprogress: () => { if (++steps === 2) stop.abort("enough"); } });
  await refused(`${kind}: a call can be cancelled`, running);
  same(`${kind}: the server goes on`, textOf(await call(kind, client, "test_simple_text", {})), "This is a simple text response for testing.");
  check(`${kind}: nothing more comes from what was cancelled`,
        await quiet(() => client.seen.filter((m) => m.method === "notifications/progress").length));
}

async function changes(kind, client, came) {
  const uri = "test://watched-resource";
  let stop = isModern(kind) ? null : await watch(kind, client, uri);
  if (isModern(kind)) {
    const s = await client.listen({ resourceSubscriptions: [uri], toolsListChanged: true });
    stop = () => s.close();
  }
  await call(kind, client, "test_trigger_resource_update", {});
  await call(kind, client, "test_trigger_tool_change", {});
  await call(kind, client, "test_trigger_prompt_change", {});
  check(`${kind}: changes are told`, await until(() => came.includes(uri) && came.includes("tools")), came);
  if (isModern(kind)) check(`${kind}: and no others`, !came.includes("prompts"), came);
  else check(`${kind}: all of them`, await until(() => came.includes("prompts")), came);
  await stop();
  check(`${kind}: and no more after that`, await until(async () => {
    came.length = 0;
    await call(kind, client, "test_trigger_resource_update", {});
    await new Promise((wake) => setTimeout(wake, 100));
    return !came.includes(uri);
  }), came);
}

async function contents(kind, client) {
  const mixed = await call(kind, client, "test_multiple_content_types", {});
  same(`${kind}: content of three types`, mixed.content.map((c) => c.type), ["text", "image", "resource"]);
  same(`${kind}: audio`, (await call(kind, client, "test_audio_content", {})).content[0].mimeType, "audio/wav");
  const wrong = await call(kind, client, "test_error_handling", {});
  check(`${kind}: a tool's error is a result`, wrong.isError === true && textOf(wrong).includes("intentionally"), wrong);
  same(`${kind}: a resource of bytes`, Buffer.from((await client.readResource({ uri: "test://static-binary" })).contents[0].blob, "base64").subarray(1, 4).toString(), "PNG");
  same(`${kind}: a resource of a template`, JSON.parse((await client.readResource({ uri: "test://template/7/data" })).contents[0].text).id, "7");
}

// Over HTTP the server closes the stream of a session's call before its result, and the client comes back for it.
async function comingBack(kind, client) {
  same(`${kind}: a result that has to be come back for`, textOf(await call(kind, client, "test_reconnection", {})), "Reconnection test completed successfully.");
}

async function unable(kind) {
  const client = await connect(kind, target, {});
  if (isModern(kind))
    await refused(`${kind}: who cannot answer is told what is needed`, call(kind, client, "test_missing_capability", {}), (e) => e.code === -32021);
  else
    check(`${kind}: who cannot answer gets a tool error`, (await call(kind, client, "test_sampling", { prompt: "x" })).isError === true);
  await client.close();
}

async function run(kind) {
  const asked = [], came = [];
  const client = await connect(kind, target, { capabilities, handlers: answers(asked, came) });
  await questions(kind, client, asked);
  await progress(kind, client);
  await logging(kind, client, came);
  await cancellation(kind, client);
  await comingBack(kind, client);
  await contents(kind, client);
  await changes(kind, client, came);
  same(`${kind}: the client took every message`, client.errors.filter((e) => !e.includes("unknown token")), []);
  await client.close();
  await unable(kind);
}

label(target.url ? "HTTP" : "stdio");
await Promise.all(KINDS.map(run));
done();
