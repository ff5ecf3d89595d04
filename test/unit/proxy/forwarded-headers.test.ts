// No header of a client, however it is spelled, names a user to the server behind the proxy.
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { byProxyIdentity } from "../../../src/auth/chain.ts";
import { claimsOf } from "../../../src/http/caller-credentials.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { forwardedHeaders, refuseUnforwardable, type Voucher } from "../../../src/proxy/forwarded-headers.ts";

const PROOF = "the proof of this start";
const user = { login: "ada@example.com", name: "Ada", picture: undefined };
const voucher: Voucher = { user, proof: PROOF, address: "10.0.0.7", host: "term.example.com" };

function forward(headers: IncomingHttpHeaders, kind: "request" | "upgrade" = "request"): IncomingHttpHeaders {
  return forwardedHeaders({ headers }, voucher, kind);
}

test("the proxy adds the identity, and its own forwarding headers for address, scheme and host", () => {
  expect(forward({ host: "term.example.com", accept: "*/*", authorization: "Bearer x" })).toEqual({
    ...{ host: "term.example.com", accept: "*/*", authorization: "Bearer x" },
    "proxy-user-proof": PROOF,
    "proxy-user-login": "ada@example.com",
    "proxy-user-name": "Ada",
    "x-forwarded-for": "10.0.0.7",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "term.example.com",
  });
});

test.each([
  "proxy-user-login",
  "proxy-user-name",
  "proxy-user-profile-pic",
  "proxy-user-proof",
  "proxy-user-anything",
  "proxy_user_login",
  "proxy-user_login",
  "x-ttyhq-local",
  "x_ttyhq_local",
  "ttyhq-on-behalf-of",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-user",
  "forwarded",
  "via",
  "x-real-ip",
  "proxy",
  "proxy-authorization",
  "te",
  "trailer",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
])("a client's %s is not forwarded", (name) => {
  const said = forward({});
  expect(forward({ [name]: "root" })).toEqual(said);
});

test("headers that Connection names are not forwarded, except for the body's length", () => {
  const sent = {
    connection: "close, X-Secret ,content-length",
    "x-secret": "1",
    "content-length": "5",
    a: "1",
  };
  const { "x-secret": secret, connection, "content-length": length, a } = forward(sent);
  expect([secret, connection, length, a]).toEqual([undefined, undefined, "5", "1"]);
});

test("an upgrade is forwarded as one to WebSocket, without a body", () => {
  const sent = { connection: "keep-alive, Upgrade", upgrade: "websocket", "sec-websocket-key": "k" };
  expect(forward(sent, "upgrade")).toMatchObject({
    ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-key": "k" },
  });
});

test("the proxy's own cookies are not forwarded", () => {
  const cookie = "a=1; __Host-ttyhq-login=secret; b=2; __Host-ttyhq-begun-x=sealed";
  expect(forward({ cookie }).cookie).toBe("a=1; b=2");
  expect(forward({ cookie: "__Host-ttyhq-login=secret" })).not.toHaveProperty("cookie");
});

test("names are sent as UTF-8 bytes and decoded to the same text", async () => {
  const named = { ...voucher, user: { login: "zoë@example.com", name: "Zoë Ωmega 🦊", picture: undefined } };
  const headers = forwardedHeaders({ headers: {} }, named, "request");
  for (const value of Object.values(headers)) expect(value).toMatch(/^[\t\x20-\x7e\x80-\xff]*$/);
  const claims = claimsOf(asRequest(headers), { queryToken: undefined, address: undefined, place: "api" });
  expect(claims.identity).toEqual({ login: "zoë@example.com", name: "Zoë Ωmega 🦊", picture: undefined });
});

/** A request as node:http parses these bytes; `undefined` if it refuses them. */
async function parsed(lines: readonly string[]): Promise<IncomingMessage | undefined> {
  const [client, connection] = duplexPair();
  const server = createServer();
  const seen: IncomingMessage[] = [];
  server.on("request", (request, response) => {
    seen.push(request);
    response.end();
  });
  server.emit("connection", connection);
  client.end(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
  // node:http closes a refused connection at once.
  await text(client).catch(() => "");
  return seen[0];
}

const SPELLINGS = [
  ...[
    "Proxy-User-Login: root",
    "PROXY-USER-LOGIN: root",
    "proxy_user_login: root",
    "Proxy-User-Login : root",
  ],
  ...["proxy-user-login:root", "proxy-user-login:\troot", "Proxy-User-Proof: guess", "X-Ttyhq-Local: guess"],
  ...[
    " proxy-user-login: root",
    "\tproxy-user-login: root",
    "a: b\r\n proxy-user-login: root",
    "a: b\nproxy-user-login: root",
  ],
  ...[
    "a: b\rproxy-user-login: root",
    "Ttyhq-On-Behalf-Of: root",
    "X-Forwarded-For: 127.0.0.1",
    "Forwarded: for=127.0.0.1",
  ],
  ...["Connection: proxy-user-proof", "Connection: x-forwarded-for, proxy-user-login", "proxy-user-login:"],
  ...[
    "Proxy-User-Name: Root",
    "Proxy-User-Profile-Pic: https://x.example/",
    "X-Real-IP: 127.0.0.1",
    "Via: 1.1 me",
    "Proxy-User-Groups: ops",
  ],
];

test("no spelling, repetition or folding of a client's headers overrides the proxy's", async () => {
  const isOwn = byProxyIdentity("own-proxy", Secret.fromText(PROOF));
  const lines = fc.array(fc.oneof(fc.constantFrom(...SPELLINGS), headerLine()), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(lines, async (sent) => {
      const request = await parsed(["GET / HTTP/1.1", "Host: term.example.com", ...sent]);
      if (request === undefined || isRefused(request)) return;
      const forwarded = forwardedHeaders(request, voucher, "request");
      const again = asRequest(forwarded);
      const claims = claimsOf(again, { queryToken: undefined, address: "10.0.0.7", place: "api" });
      expect(await isOwn(claims)).toEqual({
        ...{ user: "ada@example.com", method: "proxy", groups: [] },
        profile: { name: user.name, picture: user.picture },
      });
      expect(claims).toMatchObject({ localToken: undefined, onBehalfOf: undefined });
      const ours = Object.keys(forwarded).filter((name) => /proxy|forwarded|ttyhq|via|real-ip|_/.test(name));
      expect(ours.sort()).toEqual(OURS);
      expect(forwarded["x-forwarded-for"]).toBe("10.0.0.7");
    }),
    { numRuns: 300 },
  );
});

const OURS = [
  ...["proxy-user-login", "proxy-user-name", "proxy-user-proof"],
  ...["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"],
];

function headerLine(): fc.Arbitrary<string> {
  const name = fc.stringMatching(/^[A-Za-z_-]{1,20}$/);
  return fc.tuple(name, fc.string({ maxLength: 20 })).map(([before, after]) => `${before}: ${after}`);
}

function isRefused(request: IncomingMessage): boolean {
  try {
    refuseUnforwardable(request);
    return false;
  } catch {
    return true;
  }
}

/** As the server receives it, from this machine. */
function asRequest(headers: IncomingHttpHeaders): Parameters<typeof claimsOf>[0] {
  return { headers, socket: { remoteAddress: "127.0.0.1" } };
}
