import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { guestEvent, guestRecord, guestView } from "../../../src/access/guest-sight.ts";
import { sessionAccess } from "../../../src/access/session-access.ts";
import { Hub } from "../../../src/hub/hub.ts";
import { concatBytes } from "../../../src/lib/data/collect.ts";
import { keyOf } from "../../../src/protocol/directory/session-change.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import type { SessionBackend, View } from "../../../src/sessions/backend.ts";
import { MemoryClient } from "../hub/memory-client.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";

const { Stdout, Events, Offsets } = SubscribeFlag;

test.each([
  ["bash (~/dev/secret)", ["/bin/bash"], "/home/ada/dev/secret", "bash"],
  ["bash (/srv)", ["/bin/bash"], "/srv", "bash"],
  ["mysql --password=x (/srv)", ["/bin/bash", "-lc", "mysql  --password=x"], "/srv", "bash"],
  ["bash (~/dev (old))", ["/bin/bash"], "/home/ada/dev (old)", "bash"],
  ["bash (~/a (~b))", ["/bin/bash"], "/home/ada/a (~b)", "bash"],
  ["bash (~)", ["/bin/bash"], "/home/ada", "bash"],
  ["mysql --password=x (/srv (1))", ["/bin/bash", "-lc", "mysql  --password=x"], "/srv (1)", "bash"],
  ["a b (/srv)", ["/bin/bash", "-lc", " a \t bc d"], "/srv", "bash"],
  ["a b (/srv)", ["/bin/bash", "-lc", "a", "b a b"], "/srv", "a b"],
  ["the name (of mine)", ["/bin/bash"], "/srv", "the name (of mine)"],
  ["demo", ["/bin/bash"], "/srv", "demo"],
])("a session called %j is %j to a guest", (name, command, cwd, shown) => {
  const { record } = new MemorySessions().add("s");
  expect(guestRecord({ ...record, name, command, cwd }, { mode: "view" }).name).toBe(shown);
});

test("the name of a record for guests is made once, however long its command", () => {
  const { record } = new MemorySessions().add("s");
  let reads = 0;
  const long: SessionRecord = {
    ...{ ...record, name: "a b (/srv)", cwd: "/srv" },
    get command() {
      reads += 1;
      return ["/bin/bash", ..."a".repeat(200)];
    },
  };
  const guests = Array.from({ length: 3 }, () => guestRecord(long, { mode: "view" }).name);
  expect([guests, reads]).toEqual([["a b", "a b", "a b"], 1]);
});

test("a guest gets the session's events without its repository, its owner and other sessions", () => {
  const event = {
    timestamp: "now",
    sessionId: "s",
    owner: "ada",
    sessionName: "x",
    remoteName: "box",
  } as const;
  const guest = { session: { id: "s", key: "k" }, mode: "type" } as const;
  expect(guestEvent({ ...event, type: "session-exit", exitCode: 3 }, guest)).toEqual({
    ...{ type: "session-exit", timestamp: "now", sessionId: "s", exitCode: 3 },
  });
  expect(guestEvent({ ...event, type: "git-notification", sessionIds: ["s"] }, guest)).toBeUndefined();
  expect(guestEvent({ ...event, type: "command-finished", command: "make" }, guest)).toBeUndefined();
  expect(guestEvent({ ...event, sessionId: "other", type: "session-exit" }, guest)).toBeUndefined();
  expect(guestEvent({ ...event, type: "session-start", key: "of a later one" }, guest)).toBeUndefined();
  expect(guestEvent({ type: "remote-joined", timestamp: "now", remoteName: "box" }, guest)).toBeUndefined();
  const { record } = new MemorySessions().add("s");
  expect(guestEvent({ ...event, type: "session-changed", record }, guest)).toEqual({
    ...{ type: "session-changed", timestamp: "now", sessionId: "s" },
    record: guestRecord(record, { mode: "type" }),
  });
  expect(guestRecord(record, { mode: "type" }).access).toBe("type");
});

async function shown(view: View, text: string, cut: number): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const body = (async function* () {
    yield bytes.subarray(0, cut);
    yield bytes.subarray(cut);
  })();
  const content = await guestView(view, undefined, async () => ({ type: "x", length: bytes.length, body }));
  expect(content.length).toBeUndefined();
  return new TextDecoder().decode(concatBytes(await Array.fromAsync(content.body)));
}

test("a guest's recording has no input and no program in its header, however it is split", async () => {
  const header = '{"version":2,"width":80,"height":24,"timestamp":1,"command":"sh -c x","title":"t"}';
  const text = `${header}\n[0.1,"o","\u00e4 [1,\\"i\\",2]"]\n[0.2, "i", "typed"]\n[0.3,"m","mark"]\n`;
  const stream = text.replaceAll(/^(.+)$/gm, "id: 1\ndata: $1\n");
  for (let cut = 0; cut < text.length; cut++) {
    const cast = await shown({ kind: "recording", follow: false }, text, cut);
    expect(cast).not.toMatch(/typed|sh -c|title/);
    expect(cast).toContain('[0.1,"o","\u00e4 [1,\\"i\\",2]"]\n[0.3,"m","mark"]\n');
    const events = await shown({ kind: "stream", after: 0 }, stream, cut);
    expect(events).not.toMatch(/typed|sh -c|title/);
    expect(events).toContain('data: [0.3,"m","mark"]\n\n');
  }
});

/** A session in memory, and what guests see of it. */
function oneSession() {
  const sessions = new MemorySessions();
  const { viewOf } = sessionAccess(
    sessions,
    ({ rights }) => rights,
    () => undefined,
  );
  return { sessions, viewOf, session: sessions.add("s") };
}

test("a guest of a later link gets no earlier output or markers from the feed", async () => {
  const { sessions, viewOf, session } = oneSession();
  await using hub = new Hub({ backend: sessions, now: () => performance.now() });
  // Keeps the feed, and so its window, from the beginning on.
  await using owner = new MemoryClient(hub);
  owner.subscribe("s", { flags: Stdout | Offsets });
  await owner.settled();
  session.print("canary");
  session.title("canary");
  const told = { gitModifiedCount: 1, gitAddedCount: 0, gitDeletedCount: 0, gitAheadCount: 0 };
  const event = { kind: "git-status", type: "git-status-update", sessionId: "s", ...told } as const;
  session.sink?.({ kind: "event", offset: session.end, event: { ...event, gitBehindCount: 0 } });
  await owner.settled();
  expect(owner.json(FrameType.EVENT)).toEqual([]);
  const invited = { id: session.id, key: keyOf(session) };
  const rights = { kind: "invited", session: invited, mode: "view", from: session.end } as const;
  for (const from of [undefined, 0, 1, "live", session.end] as const) {
    await using guest = new MemoryClient(hub, viewOf({ rights }));
    guest.subscribe("s", { flags: Stdout | Events | Offsets, ...(from === undefined ? {} : { from }) });
    await guest.settled();
    const later = `later ${from}`;
    session.print(later);
    const all = (): string =>
      new TextDecoder().decode(concatBytes(guest.frames.map(({ payload }) => payload)));
    await guest.reads(() => all().includes(later) || all().includes("screen at"));
    expect(all()).not.toContain("canary");
    expect(all()).not.toContain("git-status");
    expect(guest.frames.filter(({ type }) => type === FrameType.ERROR)).toEqual([]);
  }
});

test("a guest of a session with more events than are read gets its output, and is told where to go on", async () => {
  const { sessions, viewOf, session } = oneSession();
  await using hub = new Hub({ backend: sessions, now: () => performance.now() });
  session.print("early output");
  const view = sessions.view.bind(sessions);
  const all = new Uint8Array(1024 * 1024).fill(0x20);
  sessions.view = async (id, asked) => {
    if (asked.kind !== "events") return await view(id, asked);
    return { type: "application/json", body: Readable.from(Array.from({ length: 17 }, () => all)) };
  };
  const rights = { kind: "invited", session: { id: "s", key: keyOf(session) }, mode: "view" } as const;
  const { sessions: seen } = viewOf({ rights });
  await expect(
    seen.view("s", { kind: "events", from: 0 }, new AbortController().signal),
  ).rejects.toMatchObject({ code: "range_not_satisfiable" });
  await using guest = new MemoryClient(hub, viewOf({ rights }));
  guest.subscribe("s", { flags: Stdout | Events | Offsets, from: 0 });
  await guest.reads(() => guest.frames.some(({ type }) => type === FrameType.OUTPUT));
  expect(guest.frames.filter(({ type }) => type === FrameType.ERROR)).toEqual([]);
});

test("a share link opens its own session, not a later one with the same id and time", async () => {
  const sessions = new MemorySessions();
  const session = sessions.add("s");
  const of = (key: string, id = "s") => {
    const rights = { kind: "invited", session: { id, key }, mode: "view" } as const;
    const { viewOf } = sessionAccess(
      sessions,
      () => rights,
      () => undefined,
    );
    return viewOf({ rights }).sessions;
  };
  expect(await of(keyOf(session)).get("s")).toMatchObject({ id: "s" });
  await expect(of("another").get("s")).rejects.toMatchObject({ code: "session_not_found" });
  expect(await of("another").list()).toEqual([]);
  // A remote of an HQ may give its own session the key of another one.
  await expect(of(keyOf(session), "another").get("s")).rejects.toMatchObject({ code: "session_not_found" });
  expect(await of(keyOf(session), "another").list()).toEqual([]);
});

test("a guest's request for another session is not looked up, which at an HQ asks all remotes", async () => {
  const { sessions } = oneSession();
  const searched: string[] = [];
  const backend: SessionBackend = Object.create(sessions);
  backend.find = (id) => {
    searched.push(id);
    return sessions.find(id);
  };
  const rights = { kind: "invited", session: { id: "s", key: "k" }, mode: "view" } as const;
  const guest = sessionAccess(
    backend,
    () => rights,
    () => undefined,
  ).viewOf({ rights }).sessions;
  for (const asked of [guest.get("other"), guest.write("other", new Uint8Array(1))])
    await expect(asked).rejects.toMatchObject({ code: "session_not_found" });
  expect(searched).toEqual([]);
});
