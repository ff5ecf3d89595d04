// Sessions over REST (contract 2): every endpoint.
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeResync } from "../../src/protocol/frame/resync.ts";
import { decodeSnapshot } from "../../src/web/previews/decode-snapshot.ts";
import { Rest } from "./harness/rest.ts";
import { TestServer } from "./harness/test-server.ts";

let server: TestServer;
let rest: Rest;

beforeAll(async () => {
  server = await TestServer.start({
    // A home without a profile that would delay the login shell.
    env: {
      HOME: tmpdir(),
      SHELL: "/bin/bash",
      TTYHQ_JWT_SECRET: "s".repeat(32),
      NOTIFY_SOCKET: "/run/notify",
    },
  });
  rest = new Rest(server);
});
afterAll(() => server[Symbol.asyncDispose]());

describe("POST /api/sessions", () => {
  test("answers 201 with the session, under its new and its old names", async () => {
    const { body: session } = await rest.api
      .post("/api/sessions")
      .send({ command: "cat", cwd: "/tmp", name: "n", cols: 90, rows: 20 })
      .expect(201)
      .expect("content-type", "application/json; charset=utf-8");
    expect(session).toMatchObject({
      ...{ name: "n", status: "running", command: ["cat"], cwd: "/tmp", workingDir: "/tmp" },
      ...{ cols: 90, rows: 20, outputBytes: 0, viewers: 0 },
      id: expect.stringMatching(/^[A-Za-z0-9_-]{1,64}$/),
      pid: expect.any(Number),
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      lastModified: expect.stringMatching(/Z$/),
    });
    expect(session).toMatchObject({ sessionId: session.id, startedAt: session.created });
  });

  test.each<[string, object, string]>([
    ["a program with args", { command: "printf", args: ["%s|", "a b", "$HOME"] }, "a b|$HOME|"],
    ["an array", { command: ["printf", "%s|", "a b", "$HOME"] }, "a b|$HOME|"],
    ["a program with empty args", { command: "pwd", args: [], cwd: "/usr" }, "/usr\r\n"],
    ["a line for the shell", { command: "echo $((1+2)) | tr 3 x", cwd: "/" }, "x\r\n"],
    ["a single word", { command: "pwd", workingDir: "/usr" }, "/usr\r\n"],
    ["both spellings of the directory", { command: "pwd", cwd: "/usr", workingDir: "/usr/" }, "/usr\r\n"],
    ["a size", { command: ["stty", "size"], cols: 1000, rows: 1 }, "1 1000\r\n"],
    ["an environment", { command: ["sh", "-c", 'echo "$A|$_b1"'], env: { A: "é\n", _b1: "" } }, "é\r\n|\r\n"],
    [
      "members that old clients send",
      { command: ["echo", "x"], titleMode: "dynamic", spawn_terminal: false },
      "x\r\n",
    ],
  ])("runs %s", async (_, body, expected) => {
    const { id } = await rest.create(body);
    expect(await rest.ended(id)).toMatchObject({ exitCode: 0 });
    expect((await rest.get(`/api/sessions/${id}/output`)).text).toBe(expected);
  });

  test("expands ~ in the directory", async () => {
    const home = await rest.create({ command: "pwd", cwd: "~" });
    await rest.ended(home.id);
    expect((await rest.get(`/api/sessions/${home.id}/output`)).text).toBe(`${tmpdir()}\r\n`);
  });

  test("without a command starts the login shell of the user", async () => {
    const { id, command } = await rest.create({});
    expect(command).toEqual(["/bin/bash", "-l"]);
    await rest.post(`/api/sessions/${id}/input`, {
      text: "shopt -q login_shell && echo is-$((40+2)); exit 3\r",
    });
    expect(await rest.ended(id)).toMatchObject({ exitCode: 3 });
    expect((await rest.get(`/api/sessions/${id}/output`)).text).toContain("is-42");
  });

  test("gives the program a terminal's environment, its id, and no secret of the server", async () => {
    const { id } = await rest.create({ command: "env", id: "own-id_1" });
    expect(id).toBe("own-id_1");
    await rest.ended(id);
    const env = (await rest.get(`/api/sessions/${id}/output`)).text.split("\r\n");
    expect(env).toEqual(
      expect.arrayContaining(["TERM=xterm-256color", "COLORTERM=truecolor", "TTYHQ_SESSION_ID=own-id_1"]),
    );
    expect(env.filter((line) => /^(TTYHQ_(?!SESSION_ID)|NOTIFY)/.test(line))).toEqual([]);
  });
});

describe("GET /api/sessions", () => {
  test("lists all sessions, newest first, ended ones too", async () => {
    const first = await rest.create({ command: "true" });
    const second = await rest.create({ command: "cat" });
    await rest.ended(first.id);
    await expect.poll(() => rest.record(first.id)).toMatchObject({ viewers: 0 });
    const { body: list } = await rest.api.get("/api/sessions").expect(200);
    expect(list).toEqual(expect.arrayContaining([await rest.record(first.id), await rest.record(second.id)]));
    expect(list.slice(0, 2)).toMatchObject([{ id: second.id }, { id: first.id, status: "exited" }]);
  });

  test("counts viewers, bytes and tells the title", async () => {
    const { id } = await rest.run("printf '\\033]2;my title\\007hello'; cat");
    await rest.shows(id, /hello/);
    using socket = server.connect();
    const { promise, resolve } = Promise.withResolvers<void>();
    using _viewer = socket.attach(id, { from: 0 }, { onOutput: () => resolve(), onResync: () => {} });
    await promise;
    // The list may show the end of the previous one a moment later.
    await expect
      .poll(() => rest.record(id))
      .toMatchObject({ viewers: 1, outputBytes: 18, title: "my title" });
  });
});

describe("one session", () => {
  test("is renamed", async () => {
    const { id } = await rest.create({ command: "cat" });
    const rename = rest.api.patch(`/api/sessions/${id}`).send({ name: "  other  " });
    await rename.expect(200, { success: true, name: "other" });
    expect(await rest.record(id)).toMatchObject({ name: "other" });
  });

  test("takes text, keys and bytes", async () => {
    const { id } = await rest.run("stty raw -echo; echo ready; head -c 9 | od -An -tx1; read rest");
    await rest.shows(id, /ready/);
    for (const input of [{ text: "é!" }, { key: "arrow_up" }, { data: "AP+A" }]) {
      await rest.api.post(`/api/sessions/${id}/input`).send(input).expect(200, { success: true });
    }
    await rest.shows(id, /c3 a9 21 1b 5b 41 00 ff 80/);
  });

  test("is resized", async () => {
    const { id } = await rest.create({ command: "cat" });
    const resize = rest.api.post(`/api/sessions/${id}/resize`).send({ cols: 1, rows: 1000 });
    await resize.expect(200, { success: true, cols: 1, rows: 1000 });
    expect(await rest.record(id)).toMatchObject({ cols: 1, rows: 1000 });
  });

  test("gets a signal, SIGTERM unless another is named", async () => {
    for (const [body, exitSignal] of [
      [{ signal: "SIGINT" }, "SIGINT"],
      [{}, "SIGTERM"],
      [undefined, "SIGTERM"],
    ] as const) {
      const { id } = await rest.create({ command: ["sleep", "1000"] });
      await rest.api.post(`/api/sessions/${id}/kill`).send(body).expect(200, { success: true });
      expect(await rest.ended(id)).toMatchObject({ exitSignal, exitReason: "signal" });
    }
  });

  test("is ended by DELETE, and removed by the next", async () => {
    const { id } = await rest.run("trap 'exit 6' HUP; echo ready; while :; do sleep 0.01; done");
    await rest.shows(id, /ready/);
    const remove = () => rest.api.delete(`/api/sessions/${id}`);
    await remove().expect(200, { success: true, status: "exited", exitCode: 6 });
    expect(await rest.record(id)).toMatchObject({ status: "exited", exitCode: 6 });
    await remove().expect(200, { success: true, status: "removed" });
    await remove().expect(404);
  });

  test("is not removed by DELETE with if=running, and by no other condition", async () => {
    const { id } = await rest.create({ command: ["sh", "-c", "exit 4"] });
    await rest.ended(id);
    const remove = (condition: string) => rest.api.delete(`/api/sessions/${id}?if=${condition}`);
    await remove("running").expect(200, { success: true, status: "exited", exitCode: 4 });
    await remove("runing").expect(400);
    expect(await rest.record(id)).toMatchObject({ status: "exited", exitCode: 4 });
  });

  test("is removed by cleanup once it has ended", async () => {
    const { id } = await rest.create({ command: "true" });
    await rest.ended(id);
    await rest.api.delete(`/api/sessions/${id}/cleanup`).expect(200, { success: true, status: "removed" });
    await rest.api.get(`/api/sessions/${id}`).expect(404);
  });

  test("is removed with all other ended ones by cleanup-exited, running ones stay", async () => {
    const ended = await rest.create({ command: "true" });
    const running = await rest.create({ command: "cat" });
    await rest.ended(ended.id);
    const { body } = await rest.api.post("/api/cleanup-exited").expect(200);
    const { cleanedSessions, localCleaned } = body;
    expect(cleanedSessions).toContain(ended.id);
    expect(body).toMatchObject({
      success: true,
      message: `${localCleaned} exited sessions cleaned up across all servers`,
      localCleaned: cleanedSessions.length,
      remoteResults: [],
    });
    const { body: left } = await rest.api.get("/api/sessions");
    expect(left).toContainEqual(expect.objectContaining({ id: running.id }));
    for (const record of left) expect(record).toMatchObject({ status: "running" });
  });
});

describe("the views of a session", () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await rest.run("seq 1 30; printf '\\033[7mlast\\033[0m'; cat"));
    await rest.shows(id, /last/);
  });

  test("text", async () => {
    const text = (query = "") => rest.api.get(`/api/sessions/${id}/text${query}`).expect(200);
    const plain = await text().expect("content-type", "text/plain; charset=utf-8");
    expect(plain.text.split("\n").slice(0, 2)).toEqual(["8", "9"]);
    await text("?scrollback=1").expect(/^1\n2\n[\s\S]*last\n*$/);
    await text("?styles").expect(/\[style inverse\]last\[\/style\]/);
    await text("?styles=0").expect(plain.text);
  });

  test("buffer and resync", async () => {
    const buffer = await rest.get(`/api/sessions/${id}/buffer`);
    expect(buffer.headers["content-type"]).toBe("application/octet-stream");
    expect(decodeSnapshot(buffer.bytes)).toMatchObject({ cols: 80, viewportY: 7, cursorX: 4, cursorY: 23 });
    const resync = decodeResync((await rest.get(`/api/sessions/${id}/resync`)).bytes);
    expect(resync).toMatchObject({ offset: 123, size: { cols: 80, rows: 24 } });
  });

  test("recording, by a name to save it under", async () => {
    const answer = await rest.get(`/api/sessions/${id}/recording?follow=0`);
    expect(answer.headers).toMatchObject({
      "content-type": "application/x-asciicast",
      "content-disposition": `attachment; filename="${id}.cast"`,
    });
    expect(JSON.parse(answer.text.split("\n")[0] ?? "")).toMatchObject({ version: 2, width: 80, height: 24 });
  });

  test("events, resumed by Last-Event-ID", async () => {
    const { id: other } = await rest.run("echo one; exit 4");
    await rest.ended(other);
    const stream = (query = "") => rest.api.get(`/api/sessions/${other}/stream${query}`);
    const all = await stream()
      .expect("content-type", "text/event-stream")
      .expect("cache-control", "no-cache")
      .expect(/^:ok\n\nid: 1\ndata: \{"version":2[\s\S]*data: \["exit",4,/);
    // The output may have come in several pieces, each with an id of its own.
    const last = Number(/id: (\d+)\ndata: \["exit"/.exec(all.text)?.[1]);
    const end = `:ok\n\nid: ${last}\ndata: ["exit",4,"${other}"]\n\n`;
    await stream()
      .set("last-event-id", `${last - 1}`)
      .expect(200, end);
    await stream(`?after=${last - 1}`).expect(200, end);
  });

  test("events of the journal", async () => {
    await rest.api.post(`/api/sessions/${id}/markers`).send({ label: "here" }).expect(200);
    const { body } = await rest.api.get(`/api/sessions/${id}/events?from=1`);
    expect(body).toEqual([{ time: expect.any(Number), offset: 123, kind: "m", data: "here" }]);
  });

  test("HEAD has the headers of GET and no body, also for an endless body", async () => {
    for (const view of ["text", "buffer", "output", "events", "recording", "stream"]) {
      const path = `/api/sessions/${id}/${view}`;
      const head = await rest.send("HEAD", path);
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      // Their length is not known before they are read.
      if (["events", "recording", "stream"].includes(view)) continue;
      const { headers } = await rest.get(path);
      const ofEachRequest = { date: "", "x-request-id": "" };
      expect({ ...head.headers, ...ofEachRequest }).toEqual({ ...headers, ...ofEachRequest });
    }
  });
});
