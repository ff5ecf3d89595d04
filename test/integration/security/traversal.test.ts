// Names and addresses that try path traversal: ids, recordings, the page's files, an HQ's forwarded requests.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { askAs, bearer, logIn, passwordServer } from "../harness/password-server.ts";
import { rawRequest, sendRaw } from "../harness/raw-request.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import type { TestServer } from "../harness/test-server.ts";

let server: TestServer;
let token: string;
/** Content around the named places that must never be returned. */
let secrets: readonly string[];

beforeAll(async () => {
  server = await passwordServer("inline");
  token = await logIn(server);
  const { json } = await askAs(token, server, "/api/sessions", { body: { id: "here", command: ["cat"] } });
  secrets = ["root:x:0:0", (await readFile(join(server.controlDir, "jwt-secret"), "latin1")).slice(0, 16)];
  expect(json.id).toBe("here");
});
afterAll(() => server[Symbol.asyncDispose]());

/** Spellings of `..` and `/` that some program accepts. */
const UPWARDS = [
  "..",
  "../..",
  "..%2f..",
  "%2e%2e",
  "%2e%2e%2f%2e%2e",
  "..%5c..",
  "..\\..",
  "%2e%2e%5c%2e%2e",
  "%252e%252e%252f",
  "%c0%ae%c0%ae%c0%af",
  "%ef%bc%8e%ef%bc%8e%2f",
  "....//",
  "..;/",
  "%00",
  "here%00",
  "here%2f..%2f..",
  "here%5c..",
  "here/../..",
];
const TARGETS = ["jwt-secret", "session.json", "audit.log", "etc/passwd"];

/** The answer to a target in exactly this spelling. */
async function get(target: string) {
  const headers = [`Authorization: Bearer ${token}`];
  const { text, statuses } = await sendRaw(server.url, rawRequest(server.url, target, headers));
  for (const secret of secrets) expect([target, text.includes(secret)]).toEqual([target, false]);
  return { status: statuses[0] ?? 0, text };
}

test.each(["", "/recording", "/output", "/text", "/stream", "/events", "/shares"])(
  "no id of a session leads anywhere else: /api/sessions/…%s",
  async (view) => {
    for (const up of UPWARDS) {
      for (const target of TARGETS) {
        const { status } = await get(`/api/sessions/${up}/${target}${view}`);
        expect([up, status >= 400 && status < 500]).toEqual([up, true]);
        await get(`/api/sessions/${up}%2f${target}${view}`);
      }
      // Only the id; one that ends in dots may be the address of something else, which is no file.
      await get(`/api/sessions/${up}${view}`);
    }
  },
);

test("no id of a new session leads anywhere else", async () => {
  for (const id of [
    "../x",
    "..",
    ".",
    "a/b",
    "a\\b",
    "a\0b",
    "/tmp/x",
    "a".repeat(65),
    "ａ",
    "con ",
    "-\n",
  ]) {
    const { status, json } = await askAs(token, server, "/api/sessions", { body: { id, command: ["true"] } });
    expect([id, status, json.code]).toEqual([id, 400, "invalid_request"]);
  }
});

test("no id in a frame leads anywhere else", async () => {
  await using socket = await RawSocket.open(server.url, { headers: bearer(token) });
  for (const id of ["../here", "..", "here/../here", "here\0", "here/", "/etc", "%2e%2e", "x".repeat(256)]) {
    socket.subscribe(id, { flags: SubscribeFlag.Stdout });
    expect([id, await socket.errorCode()]).toEqual([id, "session_not_found"]);
    socket.send(FrameType.INPUT_TEXT, id, "typed");
    expect([id, await socket.errorCode()]).toEqual([id, "session_not_found"]);
  }
});

test("no address of the page leads out of its files", async () => {
  const page = await get("/");
  expect(page.status).toBe(200);
  const beside = ["main.js", "app.js", "package.json", "http/router.js", "etc/passwd"];
  for (const up of UPWARDS) {
    for (const name of beside) {
      for (const target of [
        `/${up}/${name}`,
        `/assets/${up}/${name}`,
        `/${up}%2f${name}`,
        `/assets/${up}/${up}/${name}`,
      ]) {
        const { status } = await get(target);
        expect([target, status]).toEqual([target, expect.toSatisfy((code) => code === 400 || code === 404)]);
      }
    }
  }
});

test.each([
  "/.git/config",
  "/.env",
  "/assets/",
  "/assets",
  "/index.html%00.js",
  "/index.html/",
  "/web/index.html",
])("neither hidden files nor folders are served: %s", async (target) => {
  const { status } = await get(target);
  expect([400, 404]).toContain(status);
});

test("a recording is downloaded under a name that is nothing but its id", async () => {
  const body = { id: "named", command: ["true"], name: '../../x"\r\nSet-Cookie: a=b' };
  await askAs(token, server, "/api/sessions", { body });
  const { headers } = await askAs(token, server, "/api/sessions/named/recording");
  expect(headers["content-disposition"]).toBe('attachment; filename="named.cast"');
  expect(headers).not.toHaveProperty("set-cookie");
});

test("an HQ forwards only requests about sessions and worktrees, in any spelling of the address", async () => {
  await using fleet = await TestFleet.start();
  const { url } = fleet.hq;
  const outside = [
    "auth/config",
    "auth/token",
    "clients",
    "remotes",
    "openapi.json",
    "..",
    "",
    "sessions/../auth/config",
  ];
  const spellings = [
    ...outside,
    ...outside.map((path) => `api/${path}`),
    "sessions%2f..%2fauth%2fconfig",
    "sessions/%2e%2e/auth/config",
    "sessions/x/../../auth/config",
    "%2e%2e/auth/config",
    "..%2fauth%2fconfig",
    "sessions//../auth/config",
    "sessions%5c..%5cauth",
  ];
  for (const path of spellings) {
    const target = `/api/remotes/worker-1/proxy/${path}`;
    const { statuses, text } = await sendRaw(url, rawRequest(url, target));
    expect([target, statuses[0]]).toEqual([
      target,
      expect.toSatisfy((status) => status === 400 || status === 404),
    ]);
    expect(text).not.toContain("enableSSHKeys");
  }
  const own = await sendRaw(url, rawRequest(url, "/api/remotes/worker-1/proxy/sessions"));
  expect(own.statuses).toEqual([200]);
});

test("no name of a remote leads anywhere else", async () => {
  await using fleet = await TestFleet.start();
  for (const name of ["..", "%2e%2e", "worker-1%2f..", "%00", "a%20b"]) {
    const target = `/api/remotes/${name}/proxy/sessions`;
    const { statuses } = await sendRaw(fleet.hq.url, rawRequest(fleet.hq.url, target));
    expect([target, statuses]).toEqual([
      target,
      [expect.toSatisfy((status) => status === 400 || status === 404)],
    ]);
  }
});
