// Other requests of VibeTunnel's page than those about sessions (facts 3).
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { passwordServer } from "./harness/password-server.ts";

import { Rest } from "./harness/rest.ts";
import { TestServer } from "./harness/test-server.ts";

let server: TestServer;
let rest: Rest;
beforeAll(async () => {
  server = await TestServer.start();
  rest = new Rest(server);
});
afterAll(() => server[Symbol.asyncDispose]());

test("a session is active while it has output, alone and in the list of all", async () => {
  const { id } = await rest.run("while :; do echo x; sleep 0.05; done");
  await expect
    .poll(async () => (await rest.api.get(`/api/sessions/${id}/activity`)).body)
    .toMatchObject({ isActive: true, timestamp: expect.stringMatching(/Z$/), session: { id } });
  await expect
    .poll(async () => (await rest.api.get("/api/sessions/activity")).body)
    .toMatchObject({ [id]: { isActive: true } });
  await rest.api.delete(`/api/sessions/${id}`).expect(200);
  await expect
    .poll(async () => (await rest.api.get(`/api/sessions/${id}/activity`)).body)
    .toMatchObject({ isActive: false });
});

test("no session has the id that is the address of all activity", async () => {
  await rest.api.post("/api/sessions").send({ id: "activity", command: "true" }).expect(400);
});

test("the counts of a session's repository are told, and 0 outside one", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-repository-"));
  await promisify(execFile)("git", ["init", "--quiet", folder.path]);
  await writeFile(join(folder.path, "new.txt"), "x\n");
  const { id } = await rest.create({ command: "cat", cwd: folder.path });
  const none = { modified: 0, added: 0, staged: 0, deleted: 0, ahead: 0, behind: 0 };
  await expect
    .poll(async () => (await rest.api.get(`/api/sessions/${id}/git-status`)).body)
    .toEqual({ ...none, added: 1 });
  const outside = await rest.create({ command: "cat", cwd: "/" });
  await rest.api.get(`/api/sessions/${outside.id}/git-status`).expect(200, none);
});

test("a size is not taken back, and the answer says why", async () => {
  const { id } = await rest.create({ command: "cat" });
  const { body } = await rest.api.post(`/api/sessions/${id}/reset-size`).expect(400);
  expect(body).toMatchObject({ code: "invalid_request", error: expect.stringContaining("resize it") });
  await rest.api.post("/api/sessions/nobody/reset-size").expect(404);
});

test("the server says what kind it is", async () => {
  const { body } = await rest.api.get("/api/server/status").expect(200);
  expect(body).toEqual({ macAppConnected: false, isHQMode: false, version: expect.any(String) });
});

test("events of all sessions come as server-sent events, each with its number and type", async () => {
  const request = get(`${server.url}/api/events`).on("error", () => {});
  const [response] = await once(request, "response");
  expect(response.headers["content-type"]).toBe("text/event-stream");
  const seen: string[] = [];
  const lines = createInterface({ input: response }).on("line", (line) => seen.push(line));
  lines.on("error", () => {});
  const { id } = await rest.run("exit 3");
  const exit = (line: string): boolean => line.includes('"session-exit"') && line.includes(id);
  await expect.poll(() => seen.some(exit)).toBe(true);
  expect(seen.slice(0, 2)).toEqual(["event: connected", 'data: {"type":"connected"}']);
  const at = seen.findIndex(exit);
  expect(seen.slice(at - 2, at)).toEqual([expect.stringMatching(/^id: \d+$/), "event: session-exit"]);
  expect(JSON.parse(`${seen[at]?.slice("data: ".length)}`)).toMatchObject({ sessionId: id, exitCode: 3 });
  request.destroy();
  const clients = async () => (await rest.api.get("/api/clients")).body;
  await expect.poll(clients).toEqual([]);
});

test("events need a login", async () => {
  await using guarded = await passwordServer("inline");
  await new Rest(guarded).api.get("/api/events").expect(401);
});
