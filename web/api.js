// The server's functions. Errors are values: {error, message, details}.

async function read(response) {
  const text = await response.text();
  let body;
  try { body = JSON.parse(text); } catch { return { error: "E_INTERNAL", message: `the server answered ${response.status} and no JSON`, details: {} }; }
  return body;
}

export async function get(path) {
  try { return await read(await fetch(path)); } catch { return lost(); }
}

export async function post(path, body, signal) {
  try {
    return await read(await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body), signal }));
  } catch (e) {
    return e.name === "AbortError" ? { error: "E_CANCELLED", message: "stopped", details: {} } : lost();
  }
}

const lost = () => ({ error: "E_STATE", message: "The server does not answer.", details: { hint: "is merkhet serve still running?" } });

// One operator; null arguments are left out.
export function op(name, args, signal) {
  const given = Object.fromEntries(Object.entries(args).filter(([, v]) => v !== null && v !== undefined && v !== ""));
  return post("/api/op?form=wire", { op: name, args: given }, signal);
}

export const failed = (body) => typeof body?.error === "string" && typeof body?.message === "string" && body.op === undefined;

// The bundle of an answer as text, since its numbers must stay as they are.
export async function bundleText(id) {
  try {
    const response = await fetch("/api/traces/" + encodeURIComponent(id));
    return response.ok ? await response.text() : null;
  } catch { return null; }
}

export function follow(onCommit, onState) {
  const events = new EventSource("/api/events");
  events.addEventListener("commit", (e) => onCommit(JSON.parse(e.data).tt));
  events.addEventListener("open", () => onState(true));
  events.addEventListener("error", () => onState(false));
  return events;
}
