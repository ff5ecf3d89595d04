// The rights of a share link's guests, before and after a change, at a server and through an HQ, and their view of
// other users.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { ClientFlag, encodeJson, encodeSize, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import type { NewShare } from "../../../src/protocol/schemas/share.ts";
import { SessionViewer } from "../../../src/protocol/schemas/viewer.ts";
import { People, Person } from "../harness/people.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import type { TestServer } from "../harness/test-server.ts";

const FLAGS = SubscribeFlag.Stdout | SubscribeFlag.Offsets | SubscribeFlag.Events;
const refused = (status: number, code: string) => ({ status, json: expect.objectContaining({ code }) });

let people: People;
let hq: TestServer;
let worker: TestServer;
let owner: Person;
let workerId: string;

beforeAll(async () => {
  people = await People.make();
  hq = await people.server({ args: ["--hq", "--no-hq-auth", "--hq-sessions"] });
  const to = ["--hq-url", hq.url, "--allow-insecure-hq", "--no-hq-auth", "--name", "worker"];
  worker = await people.server({ args: to });
  owner = Person.named(hq, people.one);
  const admin = Person.named(hq, people.admin);
  workerId = await eventually(async () => {
    const { json } = await admin.ask("/api/remotes");
    return json.find((each: { name: string }) => each.name === "worker")?.id;
  }, "the remote");
});
afterAll(async () => {
  await worker[Symbol.asyncDispose]();
  await hq[Symbol.asyncDispose]();
  await people[Symbol.asyncDispose]();
});

const guestOf = ({ token }: NewShare): Person => new Person(hq, token);

describe.each(["a server", "a remote of an HQ"])("a session of %s", (where) => {
  const startCat = (): Promise<SessionRecord> =>
    owner.start({ command: ["cat"], cwd: "/", remoteId: where === "a server" ? "local" : workerId });

  test("a guest with a link to type cannot resize or reset the size, over HTTP or the WebSocket", async () => {
    const session = await startCat();
    const made = await owner.share(session, "type");
    expect(made).toMatchObject({ resize: false });
    await attackSize(guestOf(made), session);
    expect((await owner.ask(`/api/sessions/${session.id}`)).json).toMatchObject({ cols: 80, rows: 24 });
  });

  /** Every way to change the size of a session, and then input. */
  async function attackSize(guest: Person, { id }: SessionRecord): Promise<void> {
    const path = `/api/sessions/${id}`;
    const body = { cols: 10, rows: 10 };
    expect(await guest.ask(`${path}/resize`, { body })).toMatchObject(refused(403, "forbidden"));
    expect(await guest.ask(`${path}/reset-size`, { method: "POST" })).toMatchObject(
      refused(403, "forbidden"),
    );
    const remote = "/api/remotes/worker/proxy";
    expect(await guest.ask(`${remote}/sessions/${id}/resize`, { body })).toMatchObject({ status: 403 });
    await using socket = await guest.connect();
    socket.subscribe(id, { flags: FLAGS, from: 0 });
    socket.send(FrameType.RESIZE, id, encodeSize(body));
    expect(await socket.errorCode()).toBe("forbidden");
    socket.send(FrameType.RESET_SIZE, id);
    expect(await socket.errorCode()).toBe("forbidden");
    socket.type(id, "typed by the guest\r");
    await socket.shows(/typed by the guest\r\ntyped by the guest/);
    expect(socket.jsons(FrameType.EVENT).filter(({ kind }) => kind === "resize")).toEqual([]);
    expect((await guest.ask(path)).json).toMatchObject({ access: "type" });
    expect((await guest.ask(path)).json).not.toHaveProperty("mayResize");
  }

  test("a revoked link to type takes no more input on open sockets, with older tickets or over REST, and its guest keeps watching", async () => {
    const session = await startCat();
    const made = await owner.share(session, "type", { resize: true });
    const guest = guestOf(made);
    const path = `/api/sessions/${session.id}`;
    await using socket = await guest.connect();
    socket.subscribe(session.id, { flags: FLAGS, from: 0 });
    socket.type(session.id, "before\r");
    await socket.shows(/before\r\nbefore/);
    const { ticket } = (await guest.ask("/api/auth/ws-ticket", { method: "POST" })).json;
    const change = { method: "PATCH", body: { mode: "view" } } as const;
    const stranger = Person.named(hq, people.other);
    for (const who of [guest, stranger]) {
      expect((await who.ask(`${path}/shares/${made.id}`, change)).status).toBeGreaterThanOrEqual(403);
    }
    expect((await owner.ask(`${path}/shares/${made.id}`, change)).json).toMatchObject({ mode: "view" });
    await using late = await RawSocket.open(hq.url, { path: `/ws?token=${ticket}` });
    for (const each of [socket, late]) {
      each.type(session.id, "typed by the guest\r");
      expect(await each.errorCode()).toBe("forbidden");
      each.send(FrameType.RESIZE, session.id, encodeSize({ cols: 10, rows: 10 }));
      expect(await each.errorCode()).toBe("forbidden");
    }
    const body = { text: "typed by the guest\r" };
    expect(await guest.ask(`${path}/input`, { body })).toMatchObject(refused(403, "forbidden"));
    expect((await guest.ask(path)).json).toMatchObject({ access: "view" });
    await owner.ask(`${path}/input`, { body: { text: "the end\r" } });
    await socket.shows(/the end/);
    expect(new TextDecoder().decode(socket.output())).not.toContain("guest");
    await owner.ask(`${path}/shares/${made.id}`, { method: "PATCH", body: { mode: "type" } });
    socket.type(session.id, "again\r");
    await socket.shows(/again\r\nagain/);
  });
});

test("subscribers learn who watches and who types, and guests do so without the names of users", async () => {
  // The HQ answers for its own viewers, also of remote sessions.
  const session = await owner.start({ command: ["cat"], cwd: "/", remoteId: workerId });
  const made = await owner.share(session, "type");
  const guest = guestOf(made);
  await using mine = await owner.connect();
  mine.subscribe(session.id, { flags: FLAGS | ClientFlag.Viewers, from: 0 });
  const me = { kind: "login", mayType: true, isTyping: false };
  expect(await told(mine, 1)).toEqual([{ ...me, name: people.one, isYou: true }]);
  await using theirs = await guest.connect();
  const name = `  ${people.one}\u0000\u202e\u200b\n\t\u0300\u0301\u0302\u0303`;
  theirs.send(FrameType.HELLO, "", encodeJson({ client: "x", name }));
  theirs.subscribe(session.id, { flags: FLAGS | ClientFlag.Viewers, from: 0 });
  const seen = (viewer: object) => ({
    kind: "guest",
    mayType: true,
    isTyping: false,
    isYou: false,
    ...viewer,
  });
  const called = `${people.one} \u0300\u0301 (guest)`;
  expect(await told(mine, 2)).toEqual([
    { ...me, name: people.one, isYou: true },
    seen({ name: called, shareId: made.id }),
  ]);
  expect(await told(theirs, 2)).toEqual([
    { ...me, name: "User", isYou: false },
    seen({ name: called, isYou: true }),
  ]);
  // Until it is told: a slow server may tell nothing for as long as a key counts.
  const typing = setInterval(() => theirs.type(session.id, "x\r"), 100);
  const seenTyping = told(mine, 2, (all) => all[1]?.isTyping === true);
  expect(await seenTyping.finally(() => clearInterval(typing))).toMatchObject([{ isTyping: false }, {}]);
  const path = `/api/sessions/${session.id}`;
  await owner.ask(`${path}/shares/${made.id}`, { method: "PATCH", body: { mode: "view" } });
  await told(theirs, 2, (all) => all[1]?.mayType === false);
  // Over REST it is unknown which of a link's guests makes the request.
  expect(viewersIn(await guest.ask(`${path}/viewers`))).toMatchObject([
    { name: "User" },
    { kind: "guest", mayType: false, isYou: false },
  ]);
  expect(viewersIn(await owner.ask(`${path}/viewers`))).toMatchObject([{ isYou: true }, { name: called }]);
  const other = Person.named(hq, people.other);
  expect(await other.ask(`${path}/viewers`)).toMatchObject(refused(404, "session_not_found"));
  // The remote knows its own viewers, including the HQ.
  const there = await Person.named(worker, people.one).ask(`${path}/viewers`);
  expect(viewersIn(there)).toMatchObject([{ name: "HQ", kind: "hq" }]);
  const { ticket } = (await guest.ask("/api/auth/ws-ticket", { method: "POST" })).json;
  await using unnamed = await RawSocket.open(hq.url, { path: `/ws?token=${ticket}` });
  unnamed.subscribe(session.id, { flags: FLAGS, from: 0 });
  const [, , last] = await told(mine, 3);
  expect(last).toMatchObject({ kind: "guest", name: expect.stringMatching(/^Guest \d+$/), mayType: false });
  await unnamed.settled();
  expect(unnamed.jsons(FrameType.EVENT).filter(({ kind }) => kind === "viewers")).toEqual([]);
  await unnamed[Symbol.asyncDispose]();
  await theirs[Symbol.asyncDispose]();
  await told(mine, 1, (all) => all.length === 1 && mine.jsons(FrameType.EVENT).length > 1);
});

function viewersIn({ json }: { readonly json: unknown }): readonly SessionViewer[] {
  return SessionViewer.array().parse(json);
}

/** The last received list, once it has that many viewers and matches. */
function told(
  socket: RawSocket,
  count: number,
  isIt: (all: readonly SessionViewer[]) => boolean = () => true,
): Promise<readonly SessionViewer[]> {
  const check = (): readonly SessionViewer[] | undefined => {
    const last = socket.jsons(FrameType.EVENT).findLast(({ kind }) => kind === "viewers");
    const all = last && SessionViewer.array().parse(last.viewers);
    return all?.length === count && isIt(all) ? all : undefined;
  };
  return socket.until(check, `${count} viewers`);
}
