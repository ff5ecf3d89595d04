// Runs the commands of docs/operations.md literally: a copy of a busy control directory, and a server that starts with
// it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import type { SessionRecord } from "../../src/protocol/schemas/session.ts";
import { isRunning } from "../../src/sessions/pty/process-tree.ts";
import { parseCast } from "./harness/asciicast.ts";
import { ask } from "./harness/http.ts";
import { askAs, logIn, passwordServer } from "./harness/password-server.ts";
import { TestServer } from "./harness/test-server.ts";

const PROGRAM = fileURLToPath(new URL("./fixtures/paced-lines.ts", import.meta.url));
const PAGE = new URL("../../docs/operations.md", import.meta.url);
const COPY_TIMEOUT_MS = 60_000;
const COPIES = 3;

/** The commands under a heading of the page. */
async function commands(heading: string): Promise<string> {
  const page = await readFile(PAGE, "utf8");
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [, script] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];
  if (script === undefined) throw new Error(`no commands under ${heading}`);
  return script;
}

async function runs(heading: string, env: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn("sh", ["-eu", "-c", await commands(heading)], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = text(child.stderr);
  const [code] = await withDeadline(once(child, "exit"), COPY_TIMEOUT_MS, heading);
  if (code !== 0) throw new Error(`${heading} ended with ${code}: ${await said}`);
}

test("copies that are taken under full output start, list every session, and play up to the byte that was copied", {
  timeout: 240_000,
}, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-backup-"));
  await using server = await TestServer.start();
  const client = server.client();
  const flood = [process.execPath, PROGRAM, "3000000", "1500000"];
  const running = [await client.create({ command: flood }), await client.create({ command: flood })];
  const { id: done } = await client.create({ command: ["sh", "-c", "echo over; exit 3"] });
  await eventually(async () => (await client.get(done)).status === "exited" || undefined, "the end");
  const [first] = running;
  const printed = async (): Promise<number> => (await client.get(first?.id ?? "")).outputBytes;
  for (let copy = 1; copy <= COPIES; copy += 1) {
    await eventually(async () => (await printed()) >= copy * 3_000_000 || undefined, "the output");
    const before = await client.list();
    const backup = join(folder.path, `${copy}.tar`);
    await runs("Backup", { CONTROL_DIR: server.controlDir, BACKUP: backup });
    const controlDir = join(folder.path, `restored-${copy}`);
    await runs("Restore", { CONTROL_DIR: controlDir, BACKUP: backup });
    await expectRestored(controlDir, server, before);
  }
  expect((await readdir(folder.path)).sort()).toEqual(["1.tar", "2.tar", "3.tar"]);
  for (const { pid } of running) expect(isRunning(pid ?? 0)).toBe(true);
});

/** A server's view of the copy, compared with the original, which has changed meanwhile. */
async function expectRestored(
  controlDir: string,
  original: TestServer,
  before: readonly SessionRecord[],
): Promise<void> {
  expect((await stat(controlDir)).mode & 0o777).toBe(0o700);
  await using restored = await TestServer.start({ controlDir });
  const listed = new Map((await restored.client().list()).map((record) => [record.id, record]));
  expect([...listed.keys()].sort()).toEqual(before.map(({ id }) => id).sort());
  expect(await restored.hostLog()).not.toContain("session not readable");
  for (const then of before) {
    const now = listed.get(then.id);
    const isOver = then.status === "exited";
    expect(now).toMatchObject({
      status: "exited",
      exitReason: isOver ? "exit" : "host_lost",
      name: then.name,
    });
    const path = `/api/sessions/${then.id}`;
    const output = await bytes(`${restored.url}${path}/output`);
    expect(output.length).toBe(now?.outputBytes);
    expect(output.length).toBeGreaterThanOrEqual(isOver ? then.outputBytes : then.outputBytes / 2);
    const same = await bytes(`${original.url}${path}/output?to=${output.length}`);
    expect(output.equals(same)).toBe(true);
    const recording = await recordingOf(controlDir, then.id);
    expect(parseCast(recording).output === output.toString()).toBe(true);
  }
}

/** Existed when it was copied, or was made from the journal after the start. */
async function recordingOf(controlDir: string, id: string): Promise<string> {
  const path = join(controlDir, "sessions", id, "recording.cast");
  return eventually(() => readFile(path, "utf8").catch(() => undefined), "the recording");
}

async function bytes(url: string): Promise<Buffer> {
  const { origin, pathname, search } = new URL(url);
  const { status, bytes: body } = await ask(origin, `${pathname}${search}`);
  if (status !== 200) throw new Error(`${url}: ${status}`);
  return Buffer.from(body);
}

test("a restored copy has its logins and logouts, but no sockets", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-backup-"));
  const places = { CONTROL_DIR: "", BACKUP: join(folder.path, "copy.tar") };
  await using server = await passwordServer("apart");
  const [kept, over] = [await logIn(server), await logIn(server)];
  await askAs(over, server, "/api/auth/logout", { method: "POST" });
  await runs("Backup", { ...places, CONTROL_DIR: server.controlDir });
  const controlDir = join(folder.path, "restored");
  await runs("Restore", { ...places, CONTROL_DIR: controlDir });
  const names = await readdir(controlDir);
  expect(names.filter((name) => name.includes(".sock"))).toEqual([]);
  expect(names).toEqual(expect.arrayContaining(["jwt-secret", "logins.json", "audit.log"]));
  expect((await stat(join(controlDir, "jwt-secret"))).mode & 0o777).toBe(0o600);
  await using restored = await passwordServer("apart", { controlDir });
  expect((await askAs(kept, restored, "/api/sessions")).status).toBe(200);
  expect((await askAs(over, restored, "/api/sessions")).status).toBe(401);
});
