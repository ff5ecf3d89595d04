// Server and session host are two processes: each may stop, die and return without the other.
import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { endpoints } from "../../src/protocol/endpoints/endpoints.ts";
import { FrameType } from "../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../src/protocol/frame/payload.ts";
import { ttyhq } from "./harness/command.ts";
import { ask } from "./harness/http.ts";
import { RawSocket, textOf } from "./harness/raw-socket.ts";
import { gone, TestServer } from "./harness/test-server.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
const MIB = 1024 * 1024;

/** The processes of `ttyhq session-host` on that directory. */
async function hostsOf(controlDir: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const lines = await Promise.all(pids.map(async (pid) => ({ pid, words: await commandOf(pid) })));
  return lines
    .filter(({ words }) => words.includes("session-host") && words.includes(controlDir))
    .map(({ pid }) => pid);
}

async function commandOf(pid: number): Promise<readonly string[]> {
  return readFile(`/proc/${pid}/cmdline`, "utf8").then(
    (line) => line.split("\0"),
    () => [],
  );
}

test("a second server on a control directory says so and ends; when the first is killed another one starts", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const { controlDir } = server;
  const { id } = await server.client().create({ command: ["cat"] });
  const host = await server.hostPid();
  for (const role of [[], ["--hq"]]) {
    const place = ["--bind", "127.0.0.1", "--port", "0", "--control-dir", controlDir];
    const second = await ttyhq(["serve", "--no-auth", ...place, ...role]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("another server runs on") });
    expect(second.stderr).toContain("--registry-url");
  }
  expect(await hostsOf(controlDir)).toEqual([host]);
  await server.restart();
  expect((await server.client().list()).map((session) => session.id)).toEqual([id]);
});

test("after kill -9 of both, leftovers in the directory do no harm", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const { id, pid } = await server.client().create({ command: ["sh", "-c", "echo words; exec cat"] });
  await using socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Stdout });
  await socket.shows(/words\r\n/);
  // Answered when everything so far is on the disk, which viewers do not wait for.
  await ask(server.url, `/api/sessions/${id}/recording?follow=0`);
  const host = await server.hostPid();
  await server.kill();
  await server.killHost();
  await server.restart();
  expect(await server.hostPid()).not.toBe(host);
  expect(await server.client().get(id)).toMatchObject({ status: "exited", exitReason: "host_lost" });
  await gone(pid ?? 0);
  await using again = await RawSocket.open(server.url);
  again.subscribe(id, { flags: Stdout | Offsets, from: 0 });
  await again.event("exit");
  expect(textOf(again.output())).toBe("words\r\n");
});

test("the host dies: every client of its sessions is told the exit, and the server starts another host", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const client = server.client();
  const { id } = await client.create({ command: ["sh", "-c", "echo words; exec cat"] });
  const kinds = [0, Stdout, Snapshots, Events, Stdout | Offsets | Events];
  await using global = await RawSocket.open(server.url);
  global.subscribe("", { flags: Events });
  const sockets = await Promise.all(
    kinds.map(async (flags) => {
      const socket = await RawSocket.open(server.url);
      socket.subscribe(id, { flags });
      if ((flags & Stdout) !== 0) await socket.shows(/words/);
      await socket.settled();
      return socket;
    }),
  );
  await global.settled();
  const host = await server.hostPid();
  await server.killHost();
  for (const socket of sockets) {
    const exit = await socket.event("exit");
    expect(exit).toMatchObject({ sessionId: id, exitCode: 129 });
    await socket[Symbol.asyncDispose]();
  }
  expect(await global.event("session-exit")).toMatchObject({ sessionId: id, record: { status: "exited" } });
  expect((await client.list()).map(({ status }) => status)).toEqual(["exited"]);
  expect(await server.hostPid()).not.toBe(host);
  await client.create({ command: ["true"] });
  await global.event("session-start");
});

test("a viewer that reads the past when the host dies gets all of it from the next host", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const client = server.client();
  const script = "stty -echo; seq 1 4000000; printf done; exec cat";
  const { id } = await client.create({ command: ["sh", "-c", script] });
  await using first = await RawSocket.open(server.url);
  first.subscribe(id, { flags: Stdout | Offsets, from: "live" });
  // On the screen: a viewer that is slow for a moment gets the screen instead of the output's end.
  await eventually(
    async () => (await client.screen(id)).includes("done") || undefined,
    "the end of the output",
  );
  const { outputBytes } = await client.get(id);
  first.frames.length = 0;
  await using viewer = await RawSocket.open(server.url);
  viewer.subscribe(id, { flags: Stdout | Offsets, from: 0 });
  await viewer.bytes(1 * MIB);
  viewer.pause();
  await server.killHost();
  await first.event("exit");
  viewer.resume();
  await viewer.event("exit");
  expect(viewer.of(FrameType.RESYNC)).toEqual([]);
  expect(viewer.outputBytes).toBe(outputBytes);
  const source = await client.bytes(endpoints.sessionOutput, { params: { id }, query: { from: 0 } });
  expect(Buffer.compare(viewer.output(), source)).toBe(0);
});
