// A full disk under the server's own files.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { openGate } from "../../src/app/gate.ts";
import { createLogger } from "../../src/log.ts";
import { openControlDir } from "../../src/sessions/storage/control-dir.ts";
import { BARE } from "../unit/auth/request-claims.ts";
import { serve } from "../unit/config/command-line.ts";
import { ask } from "./harness/http.ts";
import { askAs, logIn, passwordServer } from "./harness/password-server.ts";
import { Scrape } from "./harness/scrape.ts";
import { SmallDisk } from "./harness/small-disk.ts";
import { TestServer } from "./harness/test-server.ts";

test("settings on a full disk are as they were, whole, and can be changed when there is room again", async () => {
  await using disk = await SmallDisk.make(4 * 1024 * 1024);
  await using server = await passwordServer("apart", { asProcess: true, directory: disk.path });
  const token = await logIn(server);
  const other = await logIn(server);
  const { json } = await askAs(token, server, "/api/sessions", { body: { command: ["cat"] } });
  const share = (): Promise<{ status: number; json: { code?: string } }> =>
    askAs(token, server, `/api/sessions/${json.id}/share`, { body: { mode: "view" } });
  const shares = async () => (await askAs(token, server, `/api/sessions/${json.id}/shares`)).json;
  const stored = (name: string): Promise<string> => readFile(join(server.controlDir, name), "utf8");
  expect((await share()).status).toBe(201);
  const makeRoom = await disk.fill();
  // A file that was being replaced when the disk became full frees its space.
  await eventually(async () => {
    await disk.fill();
    return (await share()).status === 507 || undefined;
  }, "a disk without room");
  const [listed, kept] = [await shares(), await stored("logins.json")];
  expect(await share()).toMatchObject({ status: 507, json: { code: "disk_failed" } });
  expect([await shares(), await stored("logins.json")]).toEqual([listed, kept]);
  // A logout takes effect, and reports that it is not stored.
  expect((await askAs(other, server, "/api/auth/logout", { method: "POST" })).status).toBe(507);
  expect((await askAs(other, server, "/api/sessions")).status).toBe(401);
  await makeRoom();
  await eventually(async () => (server.log.includes("disk written again") ? true : undefined), "the log");
  expect((await share()).status).toBe(201);
  await server.restart();
  expect((await askAs(other, server, "/api/sessions")).status).toBe(401);
  expect((await askAs(token, server, "/api/sessions")).status).toBe(200);
  expect(await shares()).toHaveLength(listed.length + 1);
});

/** The logins of a server with this control directory. */
async function gateOf(path: string) {
  const streams = { write: () => true };
  const env = { SERVICE_USERNAME: "admin", SERVICE_PASSWORD: "right" };
  return await openGate({
    ...{ config: serve(`--control-dir ${path}`, env), controlDir: openControlDir(path), instanceId: "1" },
    context: {
      ...{ env: {}, account: { user: "me", home: "/", shell: "/bin/sh" }, isRoot: false, version: "1.0.0" },
      ...{ hostname: "here", node: "", main: "", pageDir: "", stderr: streams, stdout: streams },
    },
    ...{ machineToken: undefined, sharedRecords: undefined },
    log: createLogger({ level: "silent", destination: streams }),
  });
}

test("a logout that a full disk did not take is stored when the server stops, once there is room", async () => {
  await using disk = await SmallDisk.make(4 * 1024 * 1024);
  await using gate = await gateOf(disk.path);
  const { token } = await gate.login.withPassword({ password: "right", address: undefined });
  const login = { ...BARE, authorization: `Bearer ${token}` };
  const principal = await gate.authenticate(login);
  const makeRoom = await disk.fill();
  await expect(gate.login.logOut(principal)).rejects.toMatchObject({ code: "ENOSPC" });
  await makeRoom();
  await gate[Symbol.asyncDispose]();
  await using restarted = await gateOf(disk.path);
  await expect(restarted.authenticate(login)).rejects.toMatchObject({ code: "unauthorized" });
});

test("an HQ with a full disk saves its remotes when there is space again", async () => {
  await using disk = await SmallDisk.make(4 * 1024 * 1024);
  await using hq = await TestServer.start({
    asProcess: true,
    args: ["--no-auth", "--hq"],
    directory: disk.path,
  });
  const makeRoom = await disk.fill();
  const body = { id: "id-a", name: "a", url: "http://127.0.0.1:9", token: "token-of-a" };
  expect((await ask(hq.url, "/api/remotes/register", { body })).status).toBe(200);
  await hq.logged("registry not saved");
  const isKept = async () => (await Scrape.of(hq.url)).value("ttyhq_registry_connected");
  expect([await isKept(), hq.log.split("registry not saved").length]).toEqual([0, 2]);
  await makeRoom();
  await eventually(async () => (hq.log.includes("registry saved again") ? true : undefined), "the log");
  expect(await isKept()).toBe(1);
  // The first write has what was stored before, the next one what was not.
  const file = join(hq.controlDir, "registry.json");
  await expect.poll(() => readFile(file, "utf8")).toContain('"a":');
});
