// A server that asks for a token, and the SDK clients with the right one, a wrong one and none.
//
//   token.mjs URL TOKEN

import { KINDS, call, connect } from "./clients.mjs";
import { check, done, refused, same } from "./tap.mjs";

const [url, token] = process.argv.slice(2);

for (const kind of KINDS) {
  const client = await connect(kind, { url, token });
  check(`${kind}: the right token opens`, (await call(kind, client, "describe_dataset", {})).structuredContent?.entities > 0);
  await client.close();
  await refused(`${kind}: a wrong token does not`, connect(kind, { url, token: `${token}x` }), (e) => /401|Unauthorized/i.test(e.message));
  await refused(`${kind}: none does not`, connect(kind, { url }), (e) => /401|Unauthorized/i.test(e.message));
}
const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
same("who has no token is told what is asked for, and of no place to register", [answer.status, answer.headers.get("www-authenticate")],
     [401, 'Bearer realm="merkhet"']);
done();
