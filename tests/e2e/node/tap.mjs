// What the scripts of this folder share: checks that print TAP lines for node_checks in lib.sh, which numbers them.

import { isDeepStrictEqual } from "node:util";

let prefix = "";

// What stands before every name from here on: the same checks run over more than one transport.
export function label(text) {
  prefix = `${text}, `;
}

export function check(name, holds, seen = "") {
  console.log(`${holds ? "ok" : "not ok"} - ${prefix}${name}`);
  if (!holds) console.log(`# ${String(typeof seen === "string" ? seen : JSON.stringify(seen)).slice(0, 2000).replaceAll("\n", "\n# ")}`);
  return holds;
}

export function same(name, got, wanted) {
  return check(name, isDeepStrictEqual(got, wanted), `got:    ${JSON.stringify(got)}\nwanted: ${JSON.stringify(wanted)}`);
}

// The promise is refused, and `test` accepts the error.
export async function refused(name, promise, test = () => true) {
  try {
    const got = await promise;
    return check(name, false, `was answered: ${JSON.stringify(got)}`);
  } catch (error) {
    return check(name, test(error), `${error.code} ${error.message}`);
  }
}

// The last line of a script that came to its end.
export function done() {
  console.log("done");
}
