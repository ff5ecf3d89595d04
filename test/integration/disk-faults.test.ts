// A disk under the control directory that refuses writes for a while: sessions continue, and so do their recordings
// later.
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../packages/testing/src/wait.ts";
import { folderRemoval } from "../../src/sessions/storage/session-folder.ts";
import { asciinemaCat, parseCast } from "./harness/asciicast.ts";
import { FailingDisk } from "./harness/failing-disk.ts";
import { Follower } from "./harness/follower.ts";
import { LINES_A_MIB, startPrinter } from "./harness/printer.ts";
import type { Rest } from "./harness/rest.ts";
import { fill, SmallDisk } from "./harness/small-disk.ts";
import { metric } from "./harness/test-fleet.ts";

const MIB = 1024 * 1024;
const FAILED = "disk not written: what is to be stored waits";
const HEALED = "disk written again";

const INTERRUPTED = /^recording interrupted: (\d+) bytes of output are missing here$/;

/** From the session's events. */
async function gapsOf(rest: Rest, id: string): Promise<{ from: number; to: number }[]> {
  const { json } = await rest.get(`/api/sessions/${id}/events`);
  const events = z.array(z.object({ offset: z.int(), data: z.string().optional() })).parse(json);
  return events.flatMap(({ offset: to, data = "" }) => {
    const lost = INTERRUPTED.exec(data)?.[1];
    return lost === undefined ? [] : [{ from: to - Number(lost), to }];
  });
}

describe("on a full disk", () => {
  test("the session and its viewer continue, and the recording is complete once there is space", async () => {
    await using disk = await SmallDisk.make(12 * MIB);
    await using printer = await startPrinter(disk);
    const { rest, id, server } = printer;
    await printer.print(LINES_A_MIB);
    const makeRoom = await disk.fill();
    await printer.print(LINES_A_MIB);
    expect(await printer.recording("waiting")).toMatchObject({ status: "running" });
    expect((await rest.get("/api/health")).json).toMatchObject({ status: "healthy", unrecorded: 1 });
    expect(await metric(server, 'ttyhq_recordings_incomplete\\{reason="waiting"\\}')).toBe(1);
    expect(await metric(server, "ttyhq_journal_failures_total")).toBe(1);
    await printer.print(LINES_A_MIB);

    // New viewers miss nothing either.
    for (const from of [0, 1.5 * MIB, 3 * MIB]) {
      using socket = server.connect();
      using late = Follower.attach(socket, id, from);
      await late.until(
        () => (late.next === printer.printed.length ? true : undefined),
        `all from ${from} on`,
      );
      expect(late.text === printer.printed.slice(from)).toBe(true);
    }
    expect((await rest.get(`/api/sessions/${id}/text`)).text).toContain(`${999_999 + LINES_A_MIB}`);
    expect(await printer.told()).toEqual([FAILED]);

    await makeRoom();
    expect(await printer.recording(undefined)).not.toHaveProperty("lostBytes");
    expect((await rest.get("/api/health")).json).not.toHaveProperty("unrecorded");
    await printer.print(100);
    expect(await printer.end()).toMatchObject({ exitCode: 6, outputBytes: printer.printed.length });
    const cast = await eventually(async () => {
      const { text } = await rest.get(`/api/sessions/${id}/recording`);
      return parseCast(text).output === printer.printed ? text : undefined;
    }, "the whole recording");
    expect((await asciinemaCat([new TextEncoder().encode(cast)]))[0] === printer.printed).toBe(true);
    expect((await rest.get(`/api/sessions/${id}/output`)).text === printer.printed).toBe(true);
    await eventually(async () => ((await printer.told()).length === 2 ? true : undefined), "the log");
    expect(await printer.told()).toEqual([FAILED, HEALED]);
  });

  test("output beyond the memory limit is reported as a gap, and offsets stay correct after it", async () => {
    await using disk = await SmallDisk.make(24 * MIB);
    await using printer = await startPrinter(disk);
    const { rest, id, server } = printer;
    const makeRoom = await disk.fill();
    // In steps, so that the viewer stays within the output in memory: the disk has no history for it.
    for (let step = 0; step < 9; step += 1) await printer.print(LINES_A_MIB);
    await printer.recording("waiting");
    await makeRoom();
    const { lostBytes = 0 } = await printer.recording(undefined);
    expect(lostBytes).toBeGreaterThan(4 * MIB);
    expect(lostBytes).toBeLessThan(6 * MIB);
    await printer.print(100);

    const check = async (): Promise<void> => {
      const { printed } = printer;
      // A page of the disk may become free meanwhile and take some output: then there are several gaps.
      const gaps = await gapsOf(rest, id);
      expect(gaps.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(lostBytes);
      const output = async (from: number) => await rest.get(`/api/sessions/${id}/output?from=${from}`);
      const starts = [0, ...gaps.map(({ to }) => to)];
      const ends = [...gaps.map(({ from }) => from), printed.length];
      const kept = starts.map((from, index) => printed.slice(from, ends[index]));
      for (const [index, start] of starts.entries()) {
        if (kept[index] !== "") expect((await output(start)).text === kept[index]).toBe(true);
      }
      for (const { from, to } of gaps) {
        expect([(await output(from)).status, (await output(to - 1)).status]).toEqual([416, 416]);
      }
      const cast = parseCast((await rest.get(`/api/sessions/${id}/recording?follow=0`)).text);
      expect(cast.output === kept.join("")).toBe(true);
      const labels = cast.events.flatMap(([, kind, data]) => (kind === "m" ? [data] : []));
      expect(labels.filter((label) => INTERRUPTED.test(label))).toHaveLength(gaps.length);
      // Lines end without a carriage return: wrapping depends on how much of the output is kept.
      const { text } = await rest.get(`/api/sessions/${id}/text`);
      expect(text.replaceAll(/\s/g, "")).toContain("1000099");
      // A viewer that resumes after the last gap misses nothing; one within it gets the screen.
      const to = starts.at(-1) ?? 0;
      using socket = server.connect();
      using after = Follower.attach(socket, id, to + 10);
      await after.until(() => (after.next === printed.length ? true : undefined), "the end");
      expect(after.text === printed.slice(to + 10)).toBe(true);
      using another = server.connect();
      using inside = Follower.attach(another, id, to - 10);
      await inside.until(() => (inside.next === printed.length ? true : undefined), "the end");
      expect(inside.resyncs).toHaveLength(1);
    };
    await check();
    // Another host reads the same from the disk.
    await server.killHost();
    await eventually(
      async () => ((await rest.get("/api/sessions")).status === 200 ? true : undefined),
      "a new host",
    );
    expect(await rest.record(id)).toMatchObject({
      ...{ exitReason: "host_lost", outputBytes: printer.printed.length, lostBytes },
    });
    await check();
  });

  test("a shell can be started to clean up, and what ended meanwhile is stored when there is room", async () => {
    await using disk = await SmallDisk.make(4 * MIB);
    await using printer = await startPrinter(disk);
    const { rest, id, server } = printer;
    const makeRoom = await disk.fill();
    await printer.print(LINES_A_MIB);
    const shell = await rest.run("stty -echo; printf ready:; read line; echo $line; exit 1");
    await rest.shows(shell.id, /ready:/);
    await rest.post(`/api/sessions/${shell.id}/input`, { text: "hello\n" });
    expect(await rest.ended(shell.id)).toMatchObject({ exitCode: 1, recording: "waiting" });
    expect((await rest.get(`/api/sessions/${shell.id}/output`)).text).toBe("ready:hello\r\n");
    expect(await printer.end()).toMatchObject({ exitCode: 6, recording: "waiting" });
    // Unneeded results are not waited for.
    const gone = await rest.run("echo gone");
    await rest.ended(gone.id);
    expect((await rest.send("DELETE", `/api/sessions/${gone.id}`)).status).toBe(200);
    await makeRoom();
    await printer.recording(undefined);
    await eventually(async () => ((await printer.told()).length === 2 ? true : undefined), "the log");
    await server.killHost();
    await eventually(
      async () => ((await rest.get("/api/sessions")).status === 200 ? true : undefined),
      "a new host",
    );
    expect((await rest.get("/api/sessions")).json).toMatchObject([
      { id: shell.id, exitCode: 1, exitReason: "exit" },
      { id, exitCode: 6, exitReason: "exit" },
    ]);
    expect((await rest.get(`/api/sessions/${id}/output`)).text === printer.printed).toBe(true);
    expect(parseCast((await rest.get(`/api/sessions/${shell.id}/recording`)).text).output).toBe(
      "ready:hello\r\n",
    );
  });

  test("a recording that has no room leaves what room there is to others, and is written when there is more", async () => {
    await using disk = await SmallDisk.make(16 * MIB);
    await using printer = await startPrinter(disk);
    for (let step = 0; step < 5; step += 1) await printer.print(LINES_A_MIB);
    const ballast = join(disk.path, "ballast");
    await writeFile(ballast, new Uint8Array(7 * MIB));
    let least = Number.POSITIVE_INFINITY;
    let isRefused = false;
    const watched = async (): Promise<void> => {
      while (!isRefused) {
        const { bavail, bsize } = await statfs(disk.path);
        least = Math.min(least, bavail * bsize);
      }
    };
    const refused = async (): Promise<void> => {
      await eventually(async () => (await printer.told()).at(-1) === FAILED || undefined, "the log");
      isRefused = true;
    };
    await Promise.all([printer.end(), refused(), watched()]);
    expect(least).toBeGreaterThan(2 * MIB);
    await rm(ballast);
    await eventually(async () => (await printer.told()).at(-1) === HEALED || undefined, "the log");
    const { text } = await printer.rest.get(`/api/sessions/${printer.id}/recording`);
    expect(parseCast(text).output === printer.printed).toBe(true);
  });

  test("a dead host's data stays on disk, and the next host lists it while the disk is still full", async () => {
    await using disk = await SmallDisk.make(4 * MIB);
    await using printer = await startPrinter(disk);
    const { rest, id, server } = printer;
    await printer.print(LINES_A_MIB);
    // Answered when everything so far is on the disk.
    expect((await rest.get(`/api/sessions/${id}/recording?follow=0`)).status).toBe(200);
    const makeRoom = await disk.fill();
    await printer.print(LINES_A_MIB);
    await printer.recording("waiting");
    await server.killHost();
    await server.restart();
    const lost = await rest.record(id);
    expect(lost).toMatchObject({ status: "exited", exitReason: "host_lost" });
    expect(lost.outputBytes).toBeGreaterThanOrEqual(MIB);
    const kept = printer.printed.slice(0, lost.outputBytes);
    expect((await rest.get(`/api/sessions/${id}/output`)).text === kept).toBe(true);
    await makeRoom();
    const cast = await eventually(async () => {
      const { text } = await rest.get(`/api/sessions/${id}/recording`);
      return text.includes("host was lost") ? text : undefined;
    }, "the recording");
    expect(parseCast(cast).output === kept).toBe(true);
    const { id: next } = await rest.run("echo recorded");
    await rest.ended(next);
    expect(parseCast((await rest.get(`/api/sessions/${next}/recording`)).text).output).toBe("recorded\r\n");
  });
});

test("sessions can be removed from a full disk, although their folder has no room for another name", async () => {
  await using disk = await FailingDisk.make(16 * MIB);
  const sessions = join(disk.path, "sessions");
  const folders = Array.from({ length: 300 }, () => join(sessions, randomUUID()));
  for (const folder of folders) {
    await mkdir(folder, { recursive: true });
    for (const name of ["session.json", "output"]) await writeFile(join(folder, name), name);
  }
  await fill(disk.path);
  for (const folder of folders) await folderRemoval(folder)();
  expect(await readdir(sessions)).toEqual([]);
});

test("without inodes sessions go on with their recordings, new ones are refused with the way out, and start again later", async () => {
  await using disk = await SmallDisk.make(16 * MIB, { inodes: 200 });
  await using printer = await startPrinter(disk);
  const { rest } = printer;
  const makeRoom = await disk.fillInodes();
  await printer.print(100);
  const refused = await rest.post("/api/sessions", { command: "true" });
  expect([refused.status, refused.json]).toEqual([
    507,
    {
      error: expect.stringMatching(
        /^the session could not be started: the disk of .* has no space or no inodes left: make room there$/,
      ),
      code: "disk_failed",
      details: {},
    },
  ]);
  // A running write replaced a file the first time, which freed one.
  await disk.fillInodes();
  // Its record and its recording need files of their own.
  expect(await printer.end()).toMatchObject({ exitCode: 6 });
  await eventually(async () => (await printer.told()).at(-1) === FAILED || undefined, "the log");
  await makeRoom();
  await eventually(async () => (await printer.told()).at(-1) === HEALED || undefined, "the log");
  const told = await printer.told();
  expect(told).toEqual(told.map((_, index) => (index % 2 === 0 ? FAILED : HEALED)));
  const { id } = await rest.run("echo again");
  expect(await rest.ended(id)).toMatchObject({ exitCode: 0 });
  const { text } = await rest.get(`/api/sessions/${printer.id}/recording`);
  expect(parseCast(text).output === printer.printed).toBe(true);
});

test("on a disk that became read-only sessions go on, and are there up to then when it is mounted again", async () => {
  await using disk = await FailingDisk.make(16 * MIB);
  await using printer = await startPrinter(disk);
  const { rest, id, server } = printer;
  await printer.print(LINES_A_MIB);
  await eventually(async () => {
    const { length } = (await rest.get(`/api/sessions/${id}/recording?follow=0`)).text;
    return length > MIB ? true : undefined;
  }, "the recording so far");
  await disk.fail();
  await printer.print(LINES_A_MIB);
  await printer.recording("waiting");
  expect((await rest.get(`/api/sessions/${id}/output`)).text === printer.printed).toBe(true);
  expect((await rest.get(`/api/sessions/${id}/text`)).text).toContain(`${999_999 + LINES_A_MIB}`);
  const refused = await rest.post("/api/sessions", { command: "true" });
  expect([refused.status, refused.json]).toEqual([
    507,
    expect.objectContaining({ code: "disk_failed", error: expect.stringContaining("read-only: mount it") }),
  ]);
  await server.kill("SIGTERM");
  await server.killHost();
  await disk.mountAgain();
  await server.restart();
  const lost = await rest.record(id);
  expect(lost).toMatchObject({ status: "exited", exitReason: "host_lost" });
  const kept = (await rest.get(`/api/sessions/${id}/output`)).text;
  expect(kept.length).toBe(lost.outputBytes);
  expect(printer.printed.startsWith(kept)).toBe(true);
});
