// Requests of a foreign page, and the headers about our own page (contract 5.8).
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ask, shakeHands } from "./harness/http.ts";
import { askAs, bearer, logIn, passwordServer } from "./harness/password-server.ts";
import { MAIN, OPEN, TestServer } from "./harness/test-server.ts";

const ALLOWED = "https://term.example.com";

const portOf = ({ url }: TestServer) => new URL(url).port;

/** Possible values of Origin, and whether their pages may use this server. */
function origins(server: TestServer): readonly (readonly [origin: string | undefined, isLetIn: boolean])[] {
  const port = portOf(server);
  return [
    [undefined, true],
    [server.url, true],
    // Behind a proxy that terminates TLS.
    [server.url.replace("http", "https"), true],
    [ALLOWED, true],
    ["null", false],
    ["", false],
    ["https://evil.example", false],
    [`${ALLOWED}.evil.example`, false],
    ["http://term.example.com", false],
    [`http://localhost:${port}`, false],
    ["http://127.0.0.1", false],
    [`http://127.0.0.1:${Number(port) + 1}`, false],
  ];
}

const headersOf = (origin: string | undefined): Record<string, string> =>
  origin === undefined ? {} : { origin };

test.each([
  ["without login", ["--no-auth"]],
  ["with login", []],
])("%s, a page of a foreign origin changes nothing and opens no socket", async (_, args) => {
  await using server = await passwordServer("inline", { args: [...args, "--allowed-origin", ALLOWED] });
  const token = await logIn(server);
  for (const [origin, isLetIn] of origins(server)) {
    const headers = headersOf(origin);
    const named = [origin, isLetIn];
    const made = await askAs(token, server, "/api/sessions", { headers, body: { command: ["true"] } });
    expect([...named, made.status]).toEqual([...named, isLetIn ? 201 : 403]);
    const shaken = await shakeHands(server.url, "/ws", { ...headers, ...bearer(token) });
    expect([...named, shaken.status]).toEqual([...named, isLetIn ? 101 : 403]);
    for (const { status, json } of [made, shaken]) if (status === 403) expect(json).toEqual(REFUSED_ORIGIN);
  }
});

const REFUSED_ORIGIN = {
  error: "this origin may not use the server: name it with --allowed-origin",
  code: "origin_not_allowed",
  details: {},
};

test("every method that changes something is refused to a foreign page, a login as well; reading is not, and no page may see it", async () => {
  await using server = await passwordServer("inline");
  const headers = { origin: "https://evil.example" };
  for (const method of ["POST", "PATCH", "DELETE", "PUT"]) {
    const answer = await ask(server.url, "/api/sessions/x", { method, headers });
    expect([method, answer.status, answer.json]).toEqual([method, 403, REFUSED_ORIGIN]);
  }
  expect(await ask(server.url, "/api/auth/token", { headers, body: {} })).toMatchObject({ status: 403 });
  const read = await ask(server.url, "/api/health", { headers });
  expect(read.status).toBe(200);
  const names = Object.keys(read.headers).filter((name) => name.startsWith("access-control-"));
  expect(names).toEqual([]);
});

test("without login on loopback, a rebound name gets nothing, not even the page", async () => {
  await using server = await TestServer.start({ args: ["--session-host", "inline", ...OPEN] });
  const port = portOf(server);
  for (const host of [`evil.example:${port}`, "evil.example", `localhost.evil.example:${port}`, "10.0.0.1"]) {
    const headers = { host, origin: `http://${host}` };
    const answers = [
      await ask(server.url, "/", { headers }),
      await ask(server.url, "/icon.svg", { headers }),
      await ask(server.url, "/api/health", { headers }),
      await ask(server.url, "/api/sessions", { headers }),
      await ask(server.url, "/api/sessions", { headers, body: { command: ["true"] } }),
      await ask(server.url, "/nothing", { headers }),
      await shakeHands(server.url, "/ws", headers),
    ];
    for (const { status, json } of answers) {
      expect([host, status, json?.code]).toEqual([host, 403, "host_not_allowed"]);
    }
  }
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, `ttyhq.localhost:${port}`]) {
    const headers = { host, origin: `http://${host}` };
    expect([host, (await ask(server.url, "/", { headers })).status]).toEqual([host, 200]);
    expect([host, (await shakeHands(server.url, "/ws", headers)).status]).toEqual([host, 101]);
  }
});

test("with login a server has whatever name its users gave it", async () => {
  await using server = await passwordServer("inline");
  const headers = { host: "term.example.com", origin: "https://term.example.com" };
  expect((await ask(server.url, "/", { headers })).status).toBe(200);
  expect((await shakeHands(server.url, "/ws", headers)).status).toBe(401);
});

test("page, API and refusals are isolated from other pages by their headers", async () => {
  await using server = await passwordServer("inline");
  const assets = await readdir(join(dirname(MAIN), "web", "assets"));
  const paths = ["/", `/assets/${assets[0]}`, "/nothing", "/api/health", "/api/sessions", "/api/nothing"];
  for (const path of paths) {
    const { headers } = await ask(server.url, path);
    const policy = path.startsWith("/api/") ? "default-src 'none'" : "default-src 'self'";
    expect([path, headers]).toMatchObject([path, SECURITY_HEADERS]);
    expect([path, headers["content-security-policy"]]).toEqual([path, expect.stringContaining(policy)]);
    expect(headers).not.toHaveProperty("x-powered-by");
  }
  const policy = String((await ask(server.url, "/")).headers["content-security-policy"]);
  const directives = new Map(policy.split("; ").map((each) => [each.split(" ")[0], each]));
  expect(directives.get("default-src")).toBe("default-src 'self'");
  expect(directives.get("frame-ancestors")).toBe("frame-ancestors 'none'");
  expect(directives.get("script-src")).toBe("script-src 'self' 'wasm-unsafe-eval'");
});

const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};
