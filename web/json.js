// JSON that is written back as it was read. A number that JavaScript would write otherwise (beyond 2^53, 80.0, 1e3) is
// kept as {raw: "its text"}, so that a bundle which nobody touched still has its digests.

export function parse(text) {
  let at = 0;
  const fail = (why) => { throw new SyntaxError(`${why} at ${at}`); };
  const blank = () => { while (at < text.length && " \n\r\t".includes(text[at])) at++; };
  const literal = (word, value) => { if (!text.startsWith(word, at)) fail("no JSON"); at += word.length; return value; };
  const string = () => {
    const from = at++;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at++;
    return JSON.parse(text.slice(from, at));
  };
  const number = () => {
    const found = /^-?\d+(\.\d+)?([eE][+-]?\d+)?/.exec(text.slice(at, at + 400));
    if (!found) fail("no JSON");
    at += found[0].length;
    const value = Number(found[0]);
    return Number.isSafeInteger(value) && String(value) === found[0] ? value : { raw: found[0] };
  };
  const value = (depth) => {
    if (depth > 100) fail("too deep");
    blank();
    switch (text[at]) {
      case "{": return object(depth);
      case "[": return list(depth);
      case '"': return string();
      case "t": return literal("true", true);
      case "f": return literal("false", false);
      case "n": return literal("null", null);
      default: return number();
    }
  };
  const object = (depth) => {
    const out = {};
    at++;
    blank();
    if (text[at] === "}") { at++; return out; }
    for (;;) {
      blank();
      if (text[at] !== '"') fail("a name is missing");
      const name = string();
      blank();
      if (text[at++] !== ":") fail("a colon is missing");
      Object.defineProperty(out, name, { value: value(depth + 1), enumerable: true, writable: true, configurable: true });
      blank();
      const mark = text[at++];
      if (mark === "}") return out;
      if (mark !== ",") fail("a comma is missing");
    }
  };
  const list = (depth) => {
    const out = [];
    at++;
    blank();
    if (text[at] === "]") { at++; return out; }
    for (;;) {
      out.push(value(depth + 1));
      blank();
      const mark = text[at++];
      if (mark === "]") return out;
      if (mark !== ",") fail("a comma is missing");
    }
  };
  const out = value(0);
  blank();
  if (at !== text.length) fail("more than one value");
  return out;
}

const isRaw = (v) => v !== null && typeof v === "object" && typeof v.raw === "string" && Object.keys(v).length === 1;

export function write(v) {
  if (isRaw(v)) return v.raw;
  if (Array.isArray(v)) return "[" + v.map(write).join(",") + "]";
  if (v !== null && typeof v === "object") return "{" + Object.entries(v).map(([k, x]) => JSON.stringify(k) + ":" + write(x)).join(",") + "}";
  return JSON.stringify(v);
}
