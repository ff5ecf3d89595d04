// Remotes that implement only the specification, behind our HQ (contract 10.5).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { SpecRemote } from "../fixtures/spec-remote.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { basic, TestFleet } from "../harness/test-fleet.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
const SCRIPT = 'stty -echo; echo ready; while read line; do echo "<$line>"; stty size; done; exit 7';

/** Output before this line may be missing: RESYNC draws it where nothing is recorded. */
const LOSS = /output before this may be missing/;

describe("a remote that knows the specification alone", () => {
  let fleet: TestFleet;
  let remote: SpecRemote;
  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 0 });
    remote = await SpecRemote.open();
    expect(await remote.register(fleet.hq.url, "other", basic())).toBe(200);
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  const run = () => fleet.create("other", { command: ["sh", "-c", SCRIPT], name: "mine" });
  const at = (id: string, what: string, body?: object) =>
    fleet.ask(`/api/sessions/${id}${what}`, body && { body });

  test("is asked once for what its viewers want together, and for no offsets", async () => {
    const { id } = await run();
    await using first = await RawSocket.open(fleet.hq.url);
    await using second = await RawSocket.open(fleet.hq.url);
    first.subscribe(id, { flags: Stdout | Events });
    await first.settled();
    second.subscribe(id, { flags: Stdout | Offsets, from: 0 });
    await second.settled();
    const subscribes = remote.subscribes.filter((each) => each.id === id);
    expect(subscribes).toEqual([{ id, flags: Stdout | Events, length: 12 }]);
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

  test("has the end of a session that nobody watches told to everybody once its list is read", async () => {
    const { id } = await run();
    await using events = await fleet.events();
    expect((await at(id, "/input", { text: "\u0004" })).status).toBe(200);
    const told = () => events.all.some(({ type, sessionId }) => type === "session-exit" && sessionId === id);
    // Like a remote with a new session [6.1]; otherwise the next health check reads the list.
    const body = { action: "created", sessionId: "another" };
    await eventually(async () => {
      expect((await fleet.ask("/api/remotes/other/refresh-sessions", { body })).status).toBe(200);
      return told() || undefined;
    }, "the end");
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

describe("a share link from now on, to a session of a remote that knows the specification alone", () => {
  let fleet: TestFleet;
  let remote: SpecRemote;
  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 0, isGuarded: true });
    remote = await SpecRemote.open();
    expect(await remote.register(fleet.hq.url, "other", basic())).toBe(200);
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  const open = (token?: string) => {
    const headers = { authorization: token === undefined ? basic() : `Bearer ${token}` };
    return RawSocket.open(fleet.hq.url, { headers });
  };
  const share = async (id: string): Promise<string> => {
    const { status, json } = await fleet.ask(`/api/sessions/${id}/share`, { body: { history: false } });
    expect(status).toBe(201);
    return json.token;
  };

  test.each([
    ["with offsets", { flags: Stdout | Offsets, from: 0 }],
    ["without offsets", { flags: Stdout }],
  ])("shows a guest %s no byte from before it, and RESYNC for what may be missing", async (_, request) => {
    const { id } = await fleet.create("other", { command: ["sh", "-c", SCRIPT] });
    await using owner = await open();
    owner.subscribe(id, { flags: Stdout });
    await owner.settled();
    owner.type(id, "before\n");
    await owner.shows(/<before>/);
    await using person = await open(await share(id));
    person.subscribe(id, request);
    await (request.flags & Offsets ? person.frame(FrameType.RESYNC) : person.shows(LOSS));
    owner.type(id, "after\n");
    await person.shows(/<after>/);
    expect(textOf(person.output(id))).not.toContain("before>");
    const [resync] = person.of(FrameType.RESYNC);
    if (resync !== undefined) expect(textOf(decodeResync(resync.payload).bytes)).toMatch(LOSS);
  });

  test("says so as well to the first who watches: what came since the link was made is missing", async () => {
    const { id } = await fleet.create("other", { command: ["sh", "-c", SCRIPT] });
    const token = await share(id);
    expect((await fleet.ask(`/api/sessions/${id}/input`, { body: { text: "unseen\n" } })).status).toBe(200);
    await using person = await open(token);
    person.subscribe(id, { flags: Stdout | Offsets, from: 0 });
    expect(textOf(decodeResync((await person.frame(FrameType.RESYNC)).payload).bytes)).toMatch(LOSS);
  });
});
