// Remotes that know the specification alone, behind our HQ (contract 10.5).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { decodeResync, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { SpecRemote, type SpecRemoteOptions } from "../fixtures/spec-remote.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { basic, TestFleet } from "../harness/test-fleet.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
const SCRIPT = 'stty -echo; echo ready; while read line; do echo "<$line>"; stty size; done; exit 7';

describe.each<[string, SpecRemoteOptions]>([
  ["with the specification's names", {}],
  ["with VibeTunnel's names", { names: "vibetunnel" }],
  ["whose socket refuses input and resize", { takesInput: false }],
  ["whose socket has no events", { hasEvents: false }],
])("a remote that knows the specification alone, %s", (_, options) => {
  let fleet: TestFleet;
  let remote: SpecRemote;
  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 0 });
    remote = await SpecRemote.open(options);
    expect(await remote.register(fleet.hq.url, "other", basic())).toBe(200);
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  const run = () => fleet.create("other", { command: ["sh", "-c", SCRIPT], name: "mine" });
  const at = (id: string, what: string, body?: object) =>
    fleet.ask(`/api/sessions/${id}${what}`, body && { body });

  test("has its sessions listed, created, read, typed into, resized and deleted through the HQ", async () => {
    const { id } = await run();
    const whose = { id, name: "mine", status: "running", source: "other", remoteId: remote.id };
    expect((await at(id, "")).json).toMatchObject({ ...whose, pid: expect.any(Number) });
    expect((await fleet.sessions()).find((session) => session.id === id)).toMatchObject(whose);
    expect((await fleet.record("other")).sessionIds).toContain(id);
    await using viewer = await RawSocket.open(fleet.hq.url);
    viewer.subscribe(id, { flags: Stdout });
    expect((await at(id, "/resize", { cols: 132, rows: 43 })).status).toBe(200);
    expect((await at(id, "/input", { text: "typed é\n" })).status).toBe(200);
    await viewer.shows(/<typed é>\r\n43 132\r\n/);
    const overRest = remote.calls.filter((call) => call === `POST /api/sessions/${id}/input`);
    expect(overRest.length).toBe(options.takesInput === false ? 1 : 0);
    const remove = () => fleet.ask(`/api/sessions/${id}`, { method: "DELETE" });
    expect(await remove()).toMatchObject({ status: 200, json: { status: "exited" } });
    expect(await remove()).toMatchObject({ status: 200, json: { status: "removed" } });
    expect((await at(id, "")).status).toBe(404);
  });

  test("gives each viewer what came since the HQ subscribed, and is asked for no offsets", async () => {
    const { id } = await run();
    await using first = await RawSocket.open(fleet.hq.url);
    first.subscribe(id, { flags: Stdout | Events });
    await first.settled();
    first.type(id, "one\n");
    await first.shows(/<one>\r\n\d+ \d+\r\n/);
    const seen = /<one>.*/s.exec(textOf(first.output(id)))?.[0] ?? "";
    for (const request of [{ flags: Stdout | Events }, { flags: Stdout | Events | Offsets, from: 0 }]) {
      await using late = await RawSocket.open(fleet.hq.url);
      late.subscribe(id, request);
      await late.shows(/<one>\r\n\d+ \d+\r\n/);
      expect(textOf(late.output(id))).toContain(seen);
      late.type(id, "two\n");
      await late.shows(/<two>\r\n/);
    }
    const subscribes = remote.subscribes.filter((each) => each.id === id);
    expect(subscribes).toEqual([{ id, flags: Stdout | Events, length: 12 }]);
    if (options.hasEvents === false) return;
    first.type(id, "\u0004");
    expect(await first.event("exit")).toMatchObject({ type: "session-exit", sessionId: id, exitCode: 7 });
  });

  test("is asked for screens alone by a preview, and sends no output", async () => {
    const { id } = await run();
    await using preview = await RawSocket.open(fleet.hq.url);
    preview.subscribe(id, { flags: Snapshots });
    await preview.settled();
    expect((await at(id, "/input", { text: "unseen\n" })).status).toBe(200);
    await preview.settled();
    expect(remote.subscribes.filter((each) => each.id === id)).toEqual([
      { id, flags: Snapshots, length: 12 },
    ]);
    expect(preview.outputBytes).toBe(0);
  });

  test("announces what a cut may have lost with RESYNC, and goes on", async () => {
    const { id } = await run();
    await using viewer = await RawSocket.open(fleet.hq.url);
    await using old = await RawSocket.open(fleet.hq.url);
    viewer.subscribe(id, { flags: Stdout | Offsets, from: 0 });
    old.subscribe(id, { flags: Stdout });
    for (const each of [viewer, old]) await each.settled();
    viewer.type(id, "before\n");
    for (const each of [viewer, old]) await each.shows(/<before>/);
    remote.cut();
    const { payload } = await viewer.frame(FrameType.RESYNC);
    expect(textOf(decodeResync(payload).bytes)).toContain("output before this may be missing");
    await old.shows(/output before this may be missing/);
    expect(textOf(old.output(id))).toContain("\u001bc");
    expect((await at(id, "/input", { text: "after\n" })).status).toBe(200);
    for (const each of [viewer, old]) await each.shows(/<after>/);

    await using back = await RawSocket.open(fleet.hq.url);
    back.subscribe(id, { flags: Stdout | Offsets, from: 5 });
    await back.frame(FrameType.RESYNC);
    await back.shows(/<after>/);
  });
});
