// Every operation on a session of a remote, through its HQ (contract 2 and 6.5).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import type { Answer } from "../harness/http.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { Rest } from "../harness/rest.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { REMOTE_KINDS } from "./remote-kinds.ts";

async function refused(answer: Promise<Answer>, status: number, code: string): Promise<void> {
  const { status: given, json } = await answer;
  expect([given, json]).toEqual([status, { error: expect.any(String), code, details: expect.any(Object) }]);
}

describe.each(REMOTE_KINDS)("a session of a remote $what", (kind) => {
  let fleet: TestFleet;
  let rest: Rest;
  let remote: AsyncDisposable;
  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 0 });
    rest = new Rest(fleet.hq);
    remote = await kind.join(fleet, "worker-1");
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  const run = (script: string) =>
    fleet.create("worker-1", { command: ["sh", "-c", script], cwd: "/tmp", name: "mine" });
  const listed = async (id: string) => (await fleet.sessions()).find((record) => record.id === id);

  test("says where it is, from its creation on", async () => {
    const { id: remoteId, url } = await fleet.record("worker-1");
    const created = await run("cat");
    const { id } = created;
    const labels = { source: "worker-1", remoteId, remoteName: "worker-1", remoteUrl: url };
    const own = { id, name: "mine", status: "running", pid: expect.any(Number) };
    for (const record of [created, await rest.record(id), await listed(id)]) {
      expect(record).toMatchObject({ ...own, ...labels });
      expect(new Date(record?.created ?? "").toISOString()).toBe(record?.created);
    }
    expect((await fleet.record("worker-1")).sessionIds).toContain(id);
    const { text } = await rest.get(`/api/remotes/worker-1/proxy/api/sessions/${id}`);
    expect(text).toContain(id);
    expect(text).not.toContain("remoteId");
  });

  test("takes text, keys and sizes, in order", async () => {
    const { id } = await run("read go; stty raw -echo; echo ready; head -c 7 | od -An -tx1; stty size; cat");
    await using viewer = await RawSocket.open(fleet.hq.url);
    viewer.subscribe(id, { flags: SubscribeFlag.Stdout });
    await viewer.settled();
    const type = (body: object) => rest.post(`/api/sessions/${id}/input`, body);
    await type({ text: "go\n" });
    await viewer.shows(/ready/);
    const size = { cols: 132, rows: 43 };
    expect(await rest.post(`/api/sessions/${id}/resize`, size)).toMatchObject({ status: 200, json: size });
    for (const body of [{ text: "é" }, { key: "arrow_up" }, { text: "xy" }]) {
      expect(await type(body)).toMatchObject({ status: 200, json: { success: true } });
    }
    await viewer.shows(/c3 a9 1b 5b 41 78 79\s+43 132/);
  });

  test("is ended by DELETE, removed by the next, and gone then", async () => {
    const { id } = await run("exec sleep 1000");
    const remove = () => rest.send("DELETE", `/api/sessions/${id}`);
    expect((await remove()).json).toMatchObject({ success: true, status: "exited" });
    expect((await listed(id))?.status).toBe("exited");
    expect((await remove()).json).toEqual({ success: true, status: "removed" });
    expect(await listed(id)).toBeUndefined();
    await refused(remove(), 404, "session_not_found");
    await refused(rest.get(`/api/sessions/${id}`), 404, "session_not_found");
    await refused(rest.post(`/api/sessions/${id}/input`, { text: "x" }), 404, "session_not_found");
  });

  test("is only ended by DELETE with if=running, however often", async () => {
    const { id } = await run("exec sleep 1000");
    const end = () => rest.send("DELETE", `/api/sessions/${id}?if=running`);
    expect((await end()).json).toMatchObject({ success: true, status: "exited" });
    expect((await end()).json).toMatchObject({ success: true, status: "exited" });
    expect((await listed(id))?.status).toBe("exited");
    expect((await rest.send("DELETE", `/api/sessions/${id}`)).json).toMatchObject({ status: "removed" });
  });

  test("has its end in the list, takes nothing then, and is removed by cleanup", async () => {
    const ids = [(await run("exit 3")).id, (await run("exit 3")).id] as const;
    for (const id of ids) {
      expect((await rest.ended(id)).status).toBe("exited");
      expect((await listed(id))?.status).toBe("exited");
      await refused(rest.post(`/api/sessions/${id}/input`, { text: "x" }), 400, "session_not_running");
    }
    expect((await rest.send("DELETE", `/api/sessions/${ids[0]}/cleanup`)).status).toBe(200);
    const { cleanedSessions } = Object((await rest.post("/api/cleanup-exited")).json);
    expect(cleanedSessions).toEqual([ids[1]]);
    for (const id of ids) expect(await listed(id)).toBeUndefined();
  });
});

let fleet: TestFleet;
let rest: Rest;
beforeAll(async () => {
  fleet = await TestFleet.start({ remotes: 2 });
  rest = new Rest(fleet.hq);
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});

const run = (script: string, more: object = {}): Promise<SessionRecord> =>
  fleet.create("worker-1", { command: ["sh", "-c", script], ...more });

/** The same request to the remote itself. */
const proxied = (path: string): string => `/api/remotes/worker-1/proxy${path}`;

describe("a new session", () => {
  test("is made on the remote that is named, and says where it is, from then on", async () => {
    const { id: remoteId, name, url } = await fleet.record("worker-2");
    const body = { remoteId, command: ["cat"], cwd: "/tmp", cols: 100, rows: 30, name: "mine" };
    const { status, json } = await rest.post("/api/sessions", body);
    const labels = { source: "worker-2", remoteId, remoteName: name, remoteUrl: url };
    const own = { name: "mine", status: "running", command: ["cat"], cwd: "/tmp", cols: 100, rows: 30 };
    expect([status, json]).toEqual([201, expect.objectContaining({ ...own, ...labels })]);
    const { id } = await rest.record(String(Object(json).id));
    expect(await rest.record(id)).toMatchObject({ ...own, ...labels });
    expect((await fleet.sessions()).find((record) => record.id === id)).toMatchObject({ ...own, ...labels });
    expect((await fleet.record("worker-2")).sessionIds).toEqual([id]);
    const there = await rest.get(`/api/remotes/worker-2/proxy/api/sessions/${id}`);
    expect(there.json).toMatchObject(own);
    expect(there.text).not.toContain("remoteId");
  });

  test.each([
    [{}, 400, "remote_id_required"],
    [{ remoteId: "nobody" }, 404, "remote_not_found"],
    [{ remoteId: "worker-1" }, 404, "remote_not_found"],
    [{ remoteId: "local" }, 404, "remote_not_found"],
  ])("for %j is refused", async (where, status, code) => {
    const answer = await rest.post("/api/sessions", { command: ["true"], ...where });
    expect([answer.status, Object(answer.json).code]).toEqual([status, code]);
  });

  test("of an id that another remote has is refused", async () => {
    const { id } = await run("cat", { id: `taken-${Date.now()}` });
    const { id: remoteId } = await fleet.record("worker-2");
    const answer = await rest.post("/api/sessions", { id, command: ["cat"], remoteId });
    expect([answer.status, Object(answer.json).code]).toEqual([409, "session_exists"]);
  });
});

describe("a new session in VibeTunnel's spelling", () => {
  test("answers 200, and falls back to home where workingDir does not exist, as on the remote", async () => {
    const { id: remoteId } = await fleet.record("worker-1");
    const create = (body: object) => rest.post("/api/sessions", { remoteId, command: ["cat"], ...body });
    const there = await create({ workingDir: "/tmp" });
    expect([there.status, Object(there.json).cwd]).toEqual([200, "/tmp"]);
    const lost = await create({ workingDir: "/no/such" });
    expect([lost.status, lost.json]).toEqual([200, expect.objectContaining({ cwdFallback: true })]);
    expect((await create({ cwd: "/tmp" })).status).toBe(201);
    expect(await rest.record(String(Object(lost.json).id))).toMatchObject({
      ...{ cwdFallback: true, initialCols: 80, initialRows: 24, source: "worker-1" },
    });
  });
});

describe("what the remote refuses", () => {
  test("passes on status and body of refused creations", async () => {
    const { id: remoteId } = await fleet.record("worker-1");
    const create = (body: object) => rest.post("/api/sessions", { remoteId, ...body });
    const { id } = await run("cat");
    await refused(create({ command: ["no-such-program"] }), 400, "command_not_found");
    await refused(create({ command: ["true"], cwd: "/no/such/directory" }), 400, "invalid_cwd");
    await refused(create({ command: ["true"], id }), 409, "session_exists");
    await refused(create({ command: ["true"], cols: 0 }), 400, "invalid_request");
  });

  test("passes on status and body of actions that the session's state forbids", async () => {
    const { id } = await run("exit 3");
    await rest.ended(id);
    const at = (what: string) => `/api/sessions/${id}${what}`;
    await refused(rest.post(at("/input"), { text: "x" }), 400, "session_not_running");
    await refused(rest.post(at("/resize"), { cols: 81, rows: 24 }), 400, "session_not_running");
    await refused(rest.post(at("/kill"), {}), 400, "session_not_running");
    await refused(rest.post(at("/markers"), { label: "x" }), 400, "session_not_running");
    await refused(rest.get(at("/output?from=1000")), 416, "range_not_satisfiable");
    const { id: running } = await run("cat");
    await refused(rest.send("DELETE", `/api/sessions/${running}/cleanup`), 409, "session_running");
  });

  test("is what the remote says itself", async () => {
    const path = "/api/sessions/nobody/input";
    const own = await rest.post(proxied(path), { text: "x" });
    const wrong = await rest.post(proxied(path), { text: 7 });
    expect([own.status, Object(own.json).code]).toEqual([404, "session_not_found"]);
    expect([wrong.status, Object(wrong.json).code]).toEqual([400, "invalid_request"]);
  });

  test("is session_not_found for an id that no remote has", async () => {
    await refused(rest.get("/api/sessions/nobody"), 404, "session_not_found");
    await refused(rest.send("DELETE", "/api/sessions/nobody"), 404, "session_not_found");
    await refused(rest.send("PATCH", "/api/sessions/nobody", { name: "x" }), 404, "session_not_found");
    await refused(rest.post("/api/sessions/nobody/input", { text: "x" }), 404, "session_not_found");
    await refused(rest.get("/api/sessions/nobody/text"), 404, "session_not_found");
  });
});

describe("a running session", () => {
  test("takes text, keys and bytes, in order", async () => {
    const { id } = await run("stty raw -echo; echo ready; head -c 10 | od -An -tx1; cat");
    await rest.shows(id, /ready/);
    const type = (body: object) => rest.post(`/api/sessions/${id}/input`, body);
    for (const body of [
      { text: "é" },
      { key: "arrow_up" },
      { data: Buffer.from([0, 255, 27]).toString("base64") },
      { text: "xy" },
    ]) {
      expect(await type(body)).toMatchObject({ status: 200, json: { success: true } });
    }
    await rest.shows(id, /c3 a9 1b 5b 41 00 ff 1b 78 79/);
  });

  test("is renamed, resized and marked, and the list knows", async () => {
    const { id } = await run("cat");
    const at = (what = "") => `/api/sessions/${id}${what}`;
    expect((await rest.send("PATCH", at(), { name: "new é" })).json).toEqual({
      success: true,
      name: "new é",
    });
    expect((await rest.post(at("/resize"), { cols: 132, rows: 43 })).json).toMatchObject({
      cols: 132,
      rows: 43,
    });
    expect((await rest.post(at("/markers"), { label: "here" })).status).toBe(200);
    expect(await rest.record(id)).toMatchObject({ name: "new é", cols: 132, rows: 43, source: "worker-1" });
    expect((await fleet.sessions()).find((record) => record.id === id)?.name).toBe("new é");
    expect((await rest.get(at("/events?from=0"))).json).toContainEqual(
      expect.objectContaining({ kind: "m", data: "here" }),
    );
  });

  test("gets a signal, and its end is in the list", async () => {
    const { id } = await run("trap 'exit 7' USR1; echo ready; while :; do sleep 0.01; done");
    await rest.shows(id, /ready/);
    await using events = await fleet.events();
    await rest.post(`/api/sessions/${id}/kill`, { signal: "SIGUSR1" });
    const exit = await events.first(({ type, sessionId }) => type === "session-exit" && sessionId === id);
    expect(exit).toMatchObject({ exitCode: 7, remoteName: "worker-1" });
    expect((await fleet.sessions()).find((record) => record.id === id)).toMatchObject({
      ...{ status: "exited", exitCode: 7 },
    });
  });

  test("is removed by cleanup once it has ended, and all ended ones of all remotes by cleanup-exited", async () => {
    const one = await run("exit 0");
    const others = [await run("exit 0"), await fleet.create("worker-2", { command: ["true"] })];
    for (const { id } of [one, ...others]) await rest.ended(id);
    expect((await rest.send("DELETE", `/api/sessions/${one.id}/cleanup`)).status).toBe(200);
    const { cleanedSessions: cleaned, ...results } = Object((await rest.post("/api/cleanup-exited")).json);
    expect(cleaned).toEqual(expect.arrayContaining(others.map(({ id }) => id)));
    expect(cleaned).not.toContain(one.id);
    expect(results.localCleaned).toBe(0);
    expect(new Set(results.remoteResults)).toEqual(
      new Set([
        { remoteName: "worker-1", cleaned: cleaned.length - 1 },
        { remoteName: "worker-2", cleaned: 1 },
      ]),
    );
    expect((await fleet.sessions()).every(({ status }) => status === "running")).toBe(true);
  });
});

describe("a view of a session", () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await run("seq 1 30; printf '\\033[7mlast\\033[0m'; exit 5"));
    await rest.ended(id);
  });

  test.each([
    "text",
    "text?scrollback=1",
    "text?styles=1",
    "buffer",
    "resync",
    "recording",
    "recording?follow=0",
    "stream",
    "stream?after=2",
    "output",
    "output?from=5&to=50",
    "events?from=1",
  ])("%s is what the remote gives itself, also by proxy", async (view) => {
    const path = `/api/sessions/${id}/${view}`;
    const [own, through] = [await rest.get(proxied(path)), await rest.get(path)];
    expect(through.status).toBe(200);
    expect(through.bytes.length).toBeGreaterThan(0);
    expect(Buffer.compare(through.bytes, own.bytes)).toBe(0);
    for (const name of ["content-type", "content-disposition", "accept-ranges"]) {
      expect(through.headers[name]).toBe(own.headers[name]);
    }
  });

  test("is a range of the output, and resumes by Last-Event-ID", async () => {
    for (const path of [`/api/sessions/${id}/output`, proxied(`/api/sessions/${id}/output`)]) {
      const { status, headers, text } = await rest.get(path, { range: "bytes=0-3" });
      expect([status, headers["content-range"], text]).toEqual([206, "bytes 0-3/123", "1\r\n2"]);
    }
    for (const path of [`/api/sessions/${id}/stream`, proxied(`/api/sessions/${id}/stream`)]) {
      expect((await rest.get(path, { "last-event-id": "2" })).text).toContain(`data: ["exit",5,"${id}"]`);
    }
  });
});
