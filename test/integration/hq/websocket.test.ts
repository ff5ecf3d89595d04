// /ws of an HQ: many viewers of a remote's sessions over one socket to that remote (contract 6.7).
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSize, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { Rest } from "../harness/rest.ts";
import { metric, TestFleet } from "../harness/test-fleet.ts";
import { oldScreenText, VibeTunnelClient } from "../harness/vibetunnel-client.ts";
import { REMOTE_KINDS, type RemoteKind } from "./remote-kinds.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
/** With offsets and without: both get the whole history of a short session. */
const WAYS = [{ flags: Stdout }, { flags: Stdout | Offsets, from: 0 }] as const;

const has = (viewer: RawSocket, id: string, text: string): Promise<boolean> =>
  viewer.until(() => textOf(viewer.output(id)) === text || undefined, `exactly ${JSON.stringify(text)}`);

describe.each(REMOTE_KINDS)("the sessions of a remote $what", (kind) => {
  let fleet: TestFleet;
  let remote: Awaited<ReturnType<RemoteKind["join"]>>;
  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 0 });
    remote = await kind.join(fleet, "worker-1");
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  /** A session that starts printing when a line is typed: from some remotes the HQ has no earlier output. */
  const run = (script: string): Promise<SessionRecord> =>
    fleet.create("worker-1", { command: ["sh", "-c", `read go; ${script}`] });
  const open = (): Promise<RawSocket> => RawSocket.open(fleet.hq.url);
  const listed = async (id: string) => (await fleet.sessions()).find((record) => record.id === id);
  const watch = async (viewer: RawSocket, id: string, request: Parameters<RawSocket["subscribe"]>[1]) => {
    viewer.subscribe(id, request);
    await viewer.settled();
  };

  test("are watched by any number of viewers over one connection to it, and each gets each byte once", async () => {
    const all = [await run("echo ready; cat"), await run("echo ready; cat")] as const;
    const [{ id }, { id: other }] = all;
    await using stack = new AsyncDisposableStack();
    const viewers = (await Promise.all(Array.from({ length: 30 }, open))).map((viewer) => stack.use(viewer));
    for (const [index, viewer] of viewers.entries()) {
      for (const session of all) viewer.subscribe(session.id, WAYS[index % 2] ?? WAYS[0]);
    }
    for (const viewer of viewers) await viewer.settled();
    expect(await remote.clients()).toBe(1);
    expect(await metric(fleet.hq, "ttyhq_uplinks")).toBe(1);
    expect(await metric(fleet.hq, "ttyhq_remotes")).toBe(1);
    expect(await metric(fleet.hq, "ttyhq_clients")).toBe(30);
    expect((await fleet.ask(`/api/sessions/${id}`)).json.viewers).toBe(30);
    for (const session of all) viewers[0]?.type(session.id, "go\n");
    for (const viewer of viewers) for (const session of all) await has(viewer, session.id, "go\r\nready\r\n");
    viewers[0]?.type(id, "x\n");
    for (const viewer of viewers) await has(viewer, id, "go\r\nready\r\nx\r\nx\r\n");
    for (const viewer of viewers) await has(viewer, other, "go\r\nready\r\n");
  });

  test("show a late viewer their history, and nobody else anything again", async () => {
    const { id } = await run("echo one; read line; echo two; cat");
    await using early = await open();
    await watch(early, id, { flags: Stdout });
    early.type(id, "go\n");
    await has(early, id, "go\r\none\r\n");
    early.type(id, "on\n");
    const whole = "go\r\none\r\non\r\ntwo\r\n";
    await has(early, id, whole);
    for (const way of WAYS) {
      await using late = await open();
      late.subscribe(id, way);
      await has(late, id, whole);
    }
    await early.settled();
    await has(early, id, whole);
  });

  test("go on for everybody when a viewer adds a flag, with a notice where output may be lost for that", async () => {
    const { id } = await run("echo ready; cat");
    await using changing = await open();
    await using other = await open();
    for (const viewer of [changing, other]) await watch(viewer, id, { flags: Stdout });
    other.type(id, "go\n");
    for (const viewer of [changing, other]) await has(viewer, id, "go\r\nready\r\n");
    for (const flags of [Stdout | Events, Stdout | Events | Snapshots]) {
      await watch(changing, id, { flags });
    }
    if (kind.isOurs) await changing.frame(FrameType.SNAPSHOT_VT);
    changing.type(id, "x\n");
    const notice = "\u001bc\u001b[7m[output before this may be missing]\u001b[0m\r\n";
    const notices = kind.isOurs ? "" : notice + notice;
    for (const viewer of [changing, other]) {
      await has(viewer, id, `go\r\nready\r\n${notices}x\r\nx\r\n`);
    }
    await other.settled();
    expect([...other.of(FrameType.SNAPSHOT_VT), ...other.of(FrameType.EVENT)]).toEqual([]);
  });

  test("lose nothing when a viewer leaves, and the last one to leave ends the subscription", async () => {
    const { id } = await run("echo ready; cat");
    await using staying = await open();
    {
      await using leaving = await open();
      for (const viewer of [leaving, staying]) await watch(viewer, id, { flags: Stdout });
      staying.type(id, "go\n");
      for (const viewer of [leaving, staying]) await has(viewer, id, "go\r\nready\r\n");
    }
    staying.type(id, "x\n");
    await has(staying, id, "go\r\nready\r\nx\r\nx\r\n");
    staying.send(FrameType.UNSUBSCRIBE, id);
    await staying.settled();
    expect((await fleet.ask(`/api/sessions/${id}`)).json.viewers).toBe(0);
  });

  test("end for every viewer after the last byte, whatever it watches and whenever it comes", async () => {
    const { id } = await run("stty -echo; stty size; exit 7");
    await using viewer = await open();
    await using preview = await open();
    await watch(preview, id, { flags: Snapshots });
    await watch(viewer, id, { flags: Stdout | Events });
    expect((await fleet.ask(`/api/sessions/${id}/resize`, { body: { cols: 132, rows: 43 } })).status).toBe(
      200,
    );
    viewer.type(id, "go\n");
    const exit = { type: "session-exit", sessionId: id, exitCode: kind.tellsExitCode ? 7 : 0 };
    expect(await viewer.event("exit")).toMatchObject(exit);
    expect(textOf(viewer.output(id))).toBe("go\r\n43 132\r\n");
    expect(viewer.frames.at(-1)?.type).toBe(FrameType.EVENT);
    await using late = await open();
    late.subscribe(id, { flags: Stdout });
    for (const each of [preview, late]) expect(await each.event("exit")).toMatchObject(exit);
    viewer.type(id, "x");
    expect(await viewer.errorCode()).toBe("session_not_running");
  });

  test("tell a resize to all who watch them, and their end to those who watch everything", async () => {
    const { id } = await run("exit 7");
    await using viewer = await open();
    await using other = await open();
    await using watcher = await open();
    for (const each of [viewer, other]) await watch(each, id, { flags: Stdout | Events });
    await watch(watcher, "", { flags: Events });
    viewer.send(FrameType.RESIZE, id, encodeSize({ cols: 132, rows: 43 }));
    const resize = await other.json(FrameType.EVENT, ({ dimensions }) => dimensions === "132x43");
    expect(resize).toMatchObject({ kind: "resize", cols: 132, rows: 43 });
    await eventually(async () => (await listed(id))?.cols === 132 || undefined, "its size in the list");
    viewer.type(id, "go\n");
    const told = await watcher.json(
      FrameType.EVENT,
      ({ type, sessionId }) => type === "session-exit" && sessionId === id,
    );
    expect(told).toMatchObject({ remoteName: "worker-1", ...(kind.isOurs && { exitCode: 7 }) });
  });

  test("are lost to their viewers when they are removed on the remote itself", async () => {
    const { id } = await run("cat");
    await using viewer = await open();
    await watch(viewer, id, { flags: Stdout });
    const removal = { method: "DELETE" } as const;
    for (const status of [200, 200, 404]) {
      const path = `/api/remotes/worker-1/proxy/api/sessions/${id}`;
      expect((await fleet.ask(path, removal)).status).toBe(status);
    }
    expect(await viewer.errorCode()).toBe("session_not_found");
  });

  test("get what is typed in order, with nothing lost or doubled", async () => {
    // A remote that accepts input on its socket gets it by the same code, ours or not.
    const count = kind.isOurs ? 20_000 : 1_000;
    const { id } = await run(`stty raw -echo; echo ready; head -c ${count} | tr -d '\\n' | md5sum; cat`);
    const keys = Array.from({ length: count }, (_, index) =>
      String.fromCharCode(97 + ((index * 7) % 26)),
    ).join("");
    await using viewer = await open();
    await watch(viewer, id, { flags: Stdout });
    viewer.type(id, "go\n");
    await viewer.shows(/ready/);
    for (const key of keys) viewer.type(id, key);
    await viewer.shows(new RegExp(createHash("md5").update(keys).digest("hex")));
    expect(viewer.of(FrameType.ERROR)).toEqual([]);
  });
});

test("each remote has one connection of its own", async () => {
  await using fleet = await TestFleet.start({ remotes: 2 });
  await using viewer = await RawSocket.open(fleet.hq.url);
  for (const name of ["worker-1", "worker-2"]) {
    const { id } = await fleet.create(name, { command: ["sh", "-c", "echo ready; cat"] });
    viewer.subscribe(id, { flags: Stdout });
    await has(viewer, id, "ready\r\n");
  }
  const clients = ["worker-1", "worker-2"].map((name) => metric(fleet.remote(name), "ttyhq_clients"));
  expect(await Promise.all(clients)).toEqual([1, 1]);
  expect(await metric(fleet.hq, "ttyhq_uplinks")).toBe(2);
});

test("input arrives in order also at a session that the HQ does not know yet", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, remotes: 2 });
  const { id } = await fleet.create("worker-2", { command: ["sh", "-c", "stty raw -echo; echo ready; cat"] });
  await new Rest(fleet.hq).shows(id, /ready/);
  await fleet.hq.restart();
  await using viewer = await RawSocket.open(fleet.hq.url);
  const keys = Array.from({ length: 200 }, (_, index) => `${index},`);
  for (const key of keys) viewer.type(id, key);
  viewer.subscribe(id, { flags: Stdout });
  await viewer.until(() => textOf(viewer.output(id)).endsWith(`${keys.join("")}`) || undefined, "all keys");
  expect(viewer.of(FrameType.ERROR)).toEqual([]);
  viewer.type("nobody", "x");
  viewer.subscribe("nobody", { flags: Stdout });
  expect([await viewer.errorCode(), await viewer.errorCode()]).toEqual([
    "session_not_found",
    "session_not_found",
  ]);
});

test("a VibeTunnel v3 client needs no change: terminal, previews, global channel, keys and the end", async () => {
  await using fleet = await TestFleet.start();
  const script = "stty -echo; printf 'before \\342\\202\\254\\n'; read a; stty size; read b; exit 3";
  const { id } = await fleet.create("worker-1", { command: ["sh", "-c", script] });
  await using client = await VibeTunnelClient.open(fleet.hq.url);
  client.subscribe("", 4);
  client.subscribe(id, 5);
  await client.until(() => client.text(id) === "before €\r\n");
  expect(client.events(id).find(({ kind }) => kind === "header")).toMatchObject({
    header: { version: 2, width: 80, height: 24 },
  });
  await using preview = await VibeTunnelClient.open(fleet.hq.url);
  preview.subscribe(id, 2);
  await preview.until(() => oldScreenText(preview.screen(id)).startsWith("before €"));
  client.resize(id, 132, 43);
  await client.until(() => client.events(id).some(({ dimensions }) => dimensions === "132x43"));
  client.press(id, "enter");
  await client.until(() => client.text(id) === "before €\r\n43 132\r\n");
  await preview.until(() => preview.screen(id)?.cols === 132);
  client.type(id, "\n");
  await client.until(() => client.exitCode(id) === 3);
  const told = (): boolean =>
    client
      .events("")
      .concat(client.events(id))
      .some(({ type, timestamp }) => type === "session-exit" && timestamp !== undefined);
  await client.until(told);
  expect(client.dropped).toBeLessThanOrEqual(1);
});
