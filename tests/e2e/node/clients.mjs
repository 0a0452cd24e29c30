// The official SDK clients behind one face: what differs between the two lines is said here and nowhere else.
//
//   v1      @modelcontextprotocol/sdk, sessions only
//   legacy  @modelcontextprotocol/client as it starts when nothing is chosen
//   auto    the same, which asks the server first and takes the newest revision
//   modern  the same, which accepts 2026-07-28 and nothing else

import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as typesV1 from "@modelcontextprotocol/sdk/types.js";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";

export const KINDS = ["v1", "legacy", "auto", "modern"];

const negotiation = { legacy: undefined, auto: { mode: "auto" }, modern: { mode: { pin: "2026-07-28" } } };

const schemasV1 = {
  "elicitation/create": typesV1.ElicitRequestSchema,
  "sampling/createMessage": typesV1.CreateMessageRequestSchema,
  "roots/list": typesV1.ListRootsRequestSchema,
  "notifications/resources/updated": typesV1.ResourceUpdatedNotificationSchema,
  "notifications/message": typesV1.LoggingMessageNotificationSchema,
  "notifications/tools/list_changed": typesV1.ToolListChangedNotificationSchema,
  "notifications/prompts/list_changed": typesV1.PromptListChangedNotificationSchema,
};

// target: {command, args}, or {url} with a {token} or none. handlers: method -> function of the params, for requests and notifications.
// The client keeps all messages that came, as `seen`, and errors of its own (a message that it could not take), as `errors`.
export async function connect(kind, target, { capabilities = {}, handlers = {} } = {}) {
  const info = { name: "merkhet-tests", version: "1.0.0" };
  const old = kind === "v1";
  const client = old
    ? new ClientV1(info, { capabilities })
    : new ClientV2(info, { capabilities, versionNegotiation: negotiation[kind] });
  for (const [method, run] of Object.entries(handlers)) {
    const key = old ? schemasV1[method] : method;
    if (method.startsWith("notifications/")) client.setNotificationHandler(key, (m) => run(m.params));
    else client.setRequestHandler(key, (m) => run(m.params));
  }
  const transport = target.url
    ? new (old ? HttpV1 : HttpV2)(new URL(target.url), target.token ? { requestInit: { headers: { Authorization: `Bearer ${target.token}` } } } : {})
    : new (old ? StdioV1 : StdioV2)({ command: target.command, args: target.args, stderr: "pipe" });
  client.errors = [];
  client.onerror = (error) => client.errors.push(error.message);
  await client.connect(transport);
  client.seen = [];
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    client.seen.push(message);
    return deliver(message, extra);
  };
  return client;
}

export const isModern = (kind) => kind === "auto" || kind === "modern";

export function call(kind, client, name, args, options) {
  return kind === "v1" ? client.callTool({ name, arguments: args }, undefined, options)
                       : client.callTool({ name, arguments: args }, options);
}

// Tells of changes of one resource until the returned function is called.
export async function watch(kind, client, uri) {
  if (!isModern(kind)) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  }
  const subscription = await client.listen({ resourceSubscriptions: [uri] });
  return () => subscription.close();
}

// Machines of continuous integration stand still at times, so what should happen has long, and what should not is asked again
// until it does not.
export async function until(condition, ms = 10000) {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise((wake) => setTimeout(wake, 10)))
    if (await condition()) return true;
  return condition();
}

// Whether `count` comes to stay the same for `ms`.
export function quiet(count, ms = 150) {
  return until(async () => {
    const before = count();
    await new Promise((wake) => setTimeout(wake, ms));
    return count() === before;
  });
}
