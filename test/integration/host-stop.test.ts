// SIGTERM to the session host, as when its pod is replaced: its sessions end as exited, with complete recordings.
import { mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { parseCast } from "./harness/asciicast.ts";
import { HashingViewer } from "./harness/hashing-viewer.ts";
import { killIfThere } from "./harness/processes.ts";
import { gone, TestServer } from "./harness/test-server.ts";

const WAIT_MS = 60_000;
const PROGRAMS = 4;
const BEGIN_BYTES = 3_000_000;
const FLOOD_BYTES = 8_000_000;

/**
 * A program that prints a start, and endlessly at full speed once that file exists. It has no viewers, because a viewer
 * that pauses for a moment would get the screen instead of the missed output.
 */
function floodBehind(path: string): string[] {
  const yes = "yes 'all work and no play makes a long recording 0123456789'";
  const wait = 'until [ -e "$1" ]; do sleep 0.05; done';
  return ["sh", "-c", `stty raw; ${yes} | head -c ${BEGIN_BYTES}; ${wait}; exec ${yes}`, "sh", path];
}

test("SIGTERM to a host whose programs write at full speed leaves complete journals and recordings on disk", {
  timeout: 180_000,
}, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-host-stop-"));
  const start = join(folder.path, "start");
  await using server = await TestServer.start({ asProcess: true });
  const ids: string[] = [];
  for (let number = 0; number < PROGRAMS; number += 1) {
    ids.push((await server.client().create({ command: floodBehind(start) })).id);
  }
  const [watched = ""] = ids;
  using viewer = new HashingViewer(server.url, watched);
  await viewer.reached(BEGIN_BYTES);
  const hostPid = await server.hostPid();
  // No server that would start another.
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  await writeFile(start, "");
  for (const id of ids) await flooded(join(server.controlDir, "sessions", id));
  killIfThere(hostPid, "SIGTERM");
  await gone(hostPid);
  for (const id of ids) await expectComplete(join(server.controlDir, "sessions", id));
  await server.restart();
  const records = await server.client().list();
  expect(records.map(({ status, exitReason }) => `${status} ${exitReason}`)).toEqual(
    Array(PROGRAMS).fill("exited signal"),
  );
  const { bytes } = await withDeadline(viewer.ended, WAIT_MS, "the end of the stream");
  expect(bytes).toBe(records.find(({ id }) => id === watched)?.outputBytes);
  expect(await server.hostLog()).not.toMatch(/lost its host|not readable|recording stopped/);
});

async function flooded(directory: string): Promise<void> {
  const written = async (): Promise<number> => (await stat(join(directory, "output"))).size;
  await eventually(async () => (await written()) > FLOOD_BYTES || undefined, "the flood");
}

/** The record says how the session ended, and journal and recording have the same complete output. */
async function expectComplete(directory: string): Promise<void> {
  const record = JSON.parse(await readFile(join(directory, "session.json"), "utf8"));
  expect(record.exit).toMatchObject({ reason: "signal", signal: "SIGHUP" });
  const output = await readFile(join(directory, "output"));
  expect(output.length).toBe(record.exit.outputBytes);
  const events = (await readFile(join(directory, "events"), "utf8")).trimEnd().split("\n");
  expect(events.at(-1)).toContain("x");
  const recording = parseCast(await readFile(join(directory, "recording.cast"), "utf8"));
  expect(recording.output === output.toString()).toBe(true);
}
