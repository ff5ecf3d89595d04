// Security headers of our answers: the rights of the page, and protection of everything else from execution and
// caching.
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeRemote } from "../harness/fake-remote.ts";
import { type Answer, ask, shakeHands } from "../harness/http.ts";
import { askAs, bearer, logIn, PASSWORD, passwordServer } from "../harness/password-server.ts";
import { rawRequest, sendRaw } from "../harness/raw-request.ts";
import { MAIN, TestServer } from "../harness/test-server.ts";

const NO_PAGE = "default-src 'none'; frame-ancestors 'none'; sandbox";

let server: TestServer;
let token: string;
beforeAll(async () => {
  server = await passwordServer("inline");
  token = await logIn(server);
  await askAs(token, server, "/api/sessions", {
    body: { id: "one", command: ["echo", "<script>alert(1)</script>"] },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

function directives({ headers }: Answer): ReadonlyMap<string, string> {
  const policy = String(headers["content-security-policy"]);
  return new Map(policy.split("; ").map((each) => [each.split(" ")[0] ?? "", each]));
}

test.each([
  ["/api/sessions", "application/json"],
  ["/api/sessions/one", "application/json"],
  ["/api/sessions/one/text", "text/plain"],
  ["/api/sessions/one/buffer", "application/octet-stream"],
  ["/api/sessions/one/resync", "application/octet-stream"],
  ["/api/sessions/one/output", "application/octet-stream"],
  ["/api/sessions/one/events", "application/json"],
  ["/api/sessions/one/recording", "application/x-asciicast"],
  ["/api/sessions/one/stream", "text/event-stream"],
  ["/api/health", "application/json"],
  ["/api/auth/config", "application/json"],
  ["/api/nothing", "application/json"],
])(
  "what a program wrote is no page to a browser that is led to it, and is not kept: %s",
  async (path, type) => {
    const { headers } = await askAs(token, server, path);
    expect(headers).toMatchObject({
      "content-type": expect.stringMatching(new RegExp(`^${type}(;|$)`)),
      "content-security-policy": NO_PAGE,
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": expect.stringMatching(/^no-(store|cache)$/),
    });
  },
);

test("a recording is downloaded and not shown", async () => {
  const { headers } = await askAs(token, server, "/api/sessions/one/recording");
  expect(headers["content-disposition"]).toBe('attachment; filename="one.cast"');
});

test("no answer sets a cookie or lets another origin in", async () => {
  const origin = "https://evil.example";
  const preflight = {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization",
  };
  const answers = [
    await ask(server.url, "/", { headers: { origin } }),
    await ask(server.url, "/api/health", { headers: { origin } }),
    await ask(server.url, "/api/auth/token", { body: { password: PASSWORD } }),
    await askAs(token, server, "/api/sessions", { headers: { origin } }),
    await ask(server.url, "/api/sessions", { method: "OPTIONS", headers: preflight }),
    await shakeHands(server.url, "/ws", { ...bearer(token), origin }),
    await shakeHands(server.url, "/ws", bearer(token)),
  ];
  for (const { headers } of answers) {
    const names = Object.keys(headers).filter(
      (name) => name === "set-cookie" || name.startsWith("access-control"),
    );
    expect(names).toEqual([]);
  }
});

test("the page runs its own files alone, in no frame, and nothing that is text becomes HTML or a program", async () => {
  const page = await ask(server.url, "/");
  const policy = directives(page);
  const { host } = new URL(server.url);
  expect(Object.fromEntries(policy)).toEqual({
    "default-src": "default-src 'self'",
    "script-src": "script-src 'self' 'wasm-unsafe-eval'",
    "style-src": "style-src 'self' 'unsafe-inline'",
    "img-src": "img-src 'self' data:",
    "connect-src": `connect-src 'self' ws://${host} wss://${host}`,
    "manifest-src": "manifest-src 'self'",
    "object-src": "object-src 'none'",
    "base-uri": "base-uri 'none'",
    "form-action": "form-action 'self'",
    "frame-ancestors": "frame-ancestors 'none'",
    "require-trusted-types-for": "require-trusted-types-for 'script'",
    "trusted-types": "trusted-types 'none'",
  });
  const permissions = String(page.headers["permissions-policy"]);
  for (const feature of ["camera", "microphone", "geolocation", "usb"])
    expect(permissions).toContain(`${feature}=()`);
  expect(page.headers["cache-control"]).toBe("no-cache");
  const [asset] = await readdir(join(dirname(MAIN), "web", "assets"));
  const { headers } = await ask(server.url, `/assets/${asset}`);
  expect(headers).toMatchObject({
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
  });
});

test("an invalid Host produces no policy", async () => {
  for (const host of ["a; script-src *", "a'b", "a b", "a/b"]) {
    const { text } = await sendRaw(server.url, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect([host, /connect-src[^\r]*/.exec(text)?.[0]]).toEqual([host, "connect-src 'self'"]);
  }
});

test("an unparsable request is refused like an unknown page", async () => {
  for (const text of ["nonsense\r\n\r\n", rawRequest(server.url, `/${"x".repeat(20_000)}`)]) {
    const answer = await sendRaw(server.url, text);
    expect(answer.statuses[0]).toBeGreaterThanOrEqual(400);
    expect(answer.text).toMatch(/\r\nContent-Type: application\/json; charset=utf-8\r\n/);
    expect(answer.text).toMatch(/\r\nX-Content-Type-Options: nosniff\r\n/);
    expect(answer.text).toMatch(/\r\nCache-Control: no-store\r\n/);
  }
});

test("a browser is told to come over TLS where a trusted proxy says that it does, under a name without a port", async () => {
  await using behind = await passwordServer("inline", { args: ["--trusted-proxy", "127.0.0.1"] });
  const told = async (of: TestServer, host: string, scheme: string) => {
    const { headers } = await ask(of.url, "/", { headers: { host, "x-forwarded-proto": scheme } });
    return headers["strict-transport-security"];
  };
  expect(await told(behind, "term.example.com", "https")).toBe("max-age=31536000");
  expect(await told(behind, "term.example.com", "http")).toBeUndefined();
  expect(await told(behind, "term.example.com:4020", "https")).toBeUndefined();
  // Trusted from nobody else.
  expect(await told(server, "term.example.com", "https")).toBeUndefined();
});

test("a remote's output is never a page in the HQ's origin", async () => {
  await using hq = await TestServer.start({ args: ["--hq", "--no-auth", "--rate-limit-api", "0"] });
  await using rogue = await FakeRemote.open((path) =>
    path === "/api/health"
      ? { status: 200, body: { status: "healthy" } }
      : { status: 200, text: "<script>fetch('/api/sessions')</script>", type: "text/html" },
  );
  const body = { id: "rogue", name: "rogue", url: rogue.url, token: "t" };
  expect((await ask(hq.url, "/api/remotes/register", { body })).status).toBe(200);
  const { status, text, headers } = await ask(hq.url, "/api/remotes/rogue/proxy/sessions/x/text");
  expect([status, text]).toEqual([200, "<script>fetch('/api/sessions')</script>"]);
  expect(headers).toMatchObject({ "content-security-policy": NO_PAGE, "x-content-type-options": "nosniff" });
  expect(headers).not.toHaveProperty("set-cookie");
  // Under another spelling it would get the page's policy, which allows scripts of this origin.
  for (const path of ["/API/remotes", "/Api/remotes", "/api/Remotes"]) {
    const answer = await ask(hq.url, `${path}/rogue/proxy/sessions/x/text`);
    expect([path, answer.status, answer.json?.code]).toEqual([path, 404, "not_found"]);
  }
});
