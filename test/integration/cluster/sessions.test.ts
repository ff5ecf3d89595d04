// Every operation on a session of a remote through its HQ (contract 2), on machines that share only the network.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Cluster } from "../../../packages/testing/src/cluster.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { TerminalView } from "../../../packages/testing/src/terminal/terminal-view.ts";
import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import type { SessionRecord, TerminalSize } from "../../../src/protocol/schemas/session.ts";
import { decodeSnapshot } from "../../../src/web/previews/decode-snapshot.ts";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";
import { type Asciicast, parseCast } from "../harness/asciicast.ts";
import { bestTime } from "../harness/best-time.ts";
import { ask } from "../harness/http.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { PrintedSession } from "../harness/printed-session.ts";
import { knownMachine } from "./known-machine.ts";

const MAX_BODY_BYTES = 1_000_000;
/** From the creation of a session on the remote itself until the HQ lists it. */
const APPEARANCE_MS = 2_000;

let cluster: Cluster;
beforeAll(async () => {
  await builtImage();
  cluster = await Cluster.start({ remotes: 2 });
}, BUILD_TIMEOUT_MS);
afterAll(() => cluster[Symbol.asyncDispose]());

/** Runs and shows a shell script on the first remote. */
async function run(client: ServerClient, script: string, more: object = {}): Promise<TerminalClient> {
  const { id: remoteId } = await knownMachine(client, "remote-1");
  return client.run({ remoteId, command: ["sh", "-c", script], ...more });
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  return new TextDecoder().decode(await collectBytes(body, MAX_BODY_BYTES));
}

/** The final screen of the played recording. */
function played({ header, events }: Asciicast): { readonly text: string; readonly size: TerminalSize } {
  using view = new TerminalView({ cols: header.width, rows: header.height });
  for (const [, kind, data] of events) {
    const [cols = 0, rows = 0] = kind === "r" ? data.split("x").map(Number) : [];
    if (kind === "r") view.resize({ cols, rows });
    if (kind === "o") view.write(new TextEncoder().encode(data));
  }
  return { text: view.textWithScrollback, size: view.size };
}

test.concurrent("a session is made with the environment, the directory and the size that are asked for, and knows no secret", async () => {
  using client = await cluster.client();
  const script = 'echo "$GREETING"; pwd; stty size; env | grep -cE "PASSWORD|SECRET|TTYHQ_HQ"; cat';
  const request = { env: { GREETING: "héllo" }, cwd: "/tmp", cols: 101, rows: 31, name: "mine" };
  using terminal = await run(client, script, request);
  await terminal.shows("héllo\n/tmp\n31 101\n0");
  const { id: remoteId } = await knownMachine(client, "remote-1");
  const record = await client.api.get(terminal.sessionId);
  expect(record).toMatchObject({
    ...{ name: "mine", cwd: "/tmp", cols: 101, rows: 31, status: "running", command: ["sh", "-c", script] },
    ...{ source: "remote-1", remoteName: "remote-1", remoteId },
    remoteUrl: cluster.remote("remote-1").internalUrl,
  });
  expect((await client.api.list()).find(({ id }) => id === record.id)).toMatchObject({
    name: "mine",
    remoteId,
  });
});

test.concurrent("text, keys and bytes arrive in the order in which they were sent", async () => {
  using client = await cluster.client();
  using terminal = await run(client, "stty raw -echo; printf ready; head -c 12 | od -An -tx1; cat");
  await terminal.shows("ready");
  const { sessionId } = terminal;
  await client.api.input(sessionId, { text: "é" });
  await client.api.input(sessionId, { key: "arrow_up" });
  await client.api.input(sessionId, { data: Buffer.from([0, 255, 27]).toString("base64") });
  await terminal.type("xy");
  await terminal.press("arrow_down");
  await terminal.shows("c3 a9 1b 5b 41 00 ff 1b 78 79 1b 5b");
});

test.concurrent("a session is resized, renamed, marked and signalled", async () => {
  using client = await cluster.client();
  using terminal = await run(
    client,
    "trap 'stty size' WINCH; trap 'exit 7' USR1; echo ready; while :; do sleep 0.05; done",
  );
  await terminal.shows("ready");
  const { sessionId } = terminal;
  await client.api.resize(sessionId, { cols: 132, rows: 43 });
  await terminal.shows(/^43 132$/m);
  expect(terminal.size).toEqual({ cols: 132, rows: 43 });
  await client.api.rename(sessionId, "another é");
  await client.api.mark(sessionId, "here");
  await client.api.kill(sessionId, "SIGUSR1");
  expect(await terminal.ended()).toMatchObject({ exitCode: 7 });
  const ended = { name: "another é", cols: 132, rows: 43, status: "exited", exitCode: 7 };
  expect(await client.api.get(sessionId)).toMatchObject(ended);
  const known = async (): Promise<SessionRecord | undefined> =>
    (await client.api.list()).find(({ id, status }) => id === sessionId && status === "exited");
  expect(await eventually(known, "its end in the list")).toMatchObject(ended);
  const marks = await client.api.bytes(endpoints.sessionEvents, { params: { id: sessionId } });
  expect(JSON.parse(new TextDecoder().decode(marks))).toContainEqual(
    expect.objectContaining({ kind: "m", data: "here" }),
  );
});

test.concurrent("the screen, the output and its ranges are those of the terminal", async () => {
  using client = await cluster.client();
  using terminal = await run(client, "seq 1 40; printf '\\033[7mlast\\033[0m'");
  await terminal.ended();
  const id = terminal.sessionId;
  expect(await client.api.screen(id)).toBe(terminal.screen);
  expect(await client.api.screen(id, { scrollback: true })).toBe(terminal.screenWithScrollback);
  expect(await client.api.screen(id, { styles: true })).toContain("[style inverse]last[/style]");
  const { rows, ...snapshot } = decodeSnapshot(
    await client.api.bytes(endpoints.sessionBuffer, { params: { id } }),
  );
  expect(snapshot).toEqual({ cols: 80, viewportY: 17, cursorX: 4, cursorY: 23 });
  expect(
    rows
      .at(-1)
      ?.map(({ text }) => text)
      .join(""),
  ).toBe("last");
  expect((await client.api.resync(id)).offset).toBe(terminal.offset);
  const output = (query: object) => client.api.bytes(endpoints.sessionOutput, { params: { id }, query });
  expect(Buffer.compare(await output({}), terminal.bytes)).toBe(0);
  expect(Buffer.compare(await output({ from: 5, to: 50 }), terminal.bytes.slice(5, 50))).toBe(0);
  const { username, password } = cluster.login;
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const headers = { authorization, range: "bytes=-4" };
  const range = await ask(cluster.hq.url, `/api/sessions/${id}/output`, { headers });
  const total = terminal.offset ?? 0;
  expect([range.status, range.headers["content-range"], range.text]).toEqual([
    206,
    `bytes ${total - 4}-${total - 1}/${total}`,
    "\x1b[0m",
  ]);
});

test.concurrent("the recording, played, ends with the screen of the terminal", async () => {
  using client = await cluster.client();
  using terminal = await run(
    client,
    "echo 'é 日本'; read answer; seq 1 30; stty size; read answer; tput cup 3 5; echo \"$answer\"",
  );
  const { sessionId } = terminal;
  const recording = client.api
    .recording(sessionId, { follow: true }, AbortSignal.timeout(PATIENCE_MS))
    .then(textOf);
  await terminal.shows("é 日本");
  await terminal.resize({ cols: 60, rows: 12 });
  await client.api.mark(sessionId, "resized");
  await terminal.type("go\r");
  await terminal.shows(/^12 60$/m);
  await terminal.type("the end\r");
  await terminal.ended();
  const cast = parseCast(await recording);
  expect(cast.header).toMatchObject({ width: 80, height: 24 });
  expect(cast.events.filter(([, kind]) => kind !== "o").map(([, kind, data]) => [kind, data])).toEqual([
    ["r", "60x12"],
    ["m", "resized"],
  ]);
  expect(played(cast)).toEqual({ text: terminal.screenWithScrollback, size: terminal.size });
});

test.concurrent("the stream of events is live, ends with the exit, and resumes behind any event", async () => {
  using client = await cluster.client();
  using terminal = await run(client, "echo one; read answer; echo two");
  const id = terminal.sessionId;
  const follow = async (query: { readonly after?: number }) =>
    (
      await client.api.stream(
        endpoints.sessionStream,
        { params: { id }, query },
        AbortSignal.timeout(PATIENCE_MS),
      )
    ).body;
  let seen = "";
  for await (const piece of await follow({})) {
    const before = seen;
    seen += new TextDecoder().decode(piece);
    if (seen.includes("one") && !before.includes("one")) await terminal.type("go\r");
  }
  expect(seen).toContain("two");
  expect(seen.trimEnd().endsWith(`data: ["exit",0,"${id}"]`)).toBe(true);
  expect(await textOf(await follow({ after: 1 }))).toBe(seen.replace(/id: 1\n.*\n\n/, ""));
});

test.concurrent("a session is ended by the first DELETE and removed by the second; an ended one by cleanup", async () => {
  using client = await cluster.client();
  using terminal = await run(client, "exec sleep 1000");
  const { sessionId } = terminal;
  expect(await client.api.remove(sessionId)).toEqual({ success: true, status: "exited", exitCode: 129 });
  await terminal.ended();
  expect(await client.api.remove(sessionId)).toEqual({ success: true, status: "removed" });
  await expect(client.api.get(sessionId)).rejects.toMatchObject({ code: "session_not_found" });
  using other = await run(client, "exit 3");
  await other.ended();
  const cleanup = () => client.api.call(endpoints.cleanupSession, { params: { id: other.sessionId } });
  expect(await cleanup()).toEqual({ success: true, status: "removed" });
  await expect(cleanup()).rejects.toMatchObject({ code: "session_not_found" });
  const listed = new Set((await client.api.list()).map(({ id }) => id));
  expect([sessionId, other.sessionId].filter((id) => listed.has(id))).toEqual([]);
});

test.concurrent("of two sessions with one id the first is reached, the other is told of, and takes its place", async () => {
  using client = await cluster.client();
  using direct = await cluster.remote("remote-2").client();
  const command = (word: string) => ["sh", "-c", `echo ${word}; exec cat`];
  using first = await run(client, "echo first; exec cat", { id: "twin" });
  await first.shows("first");
  await direct.api.create({ id: "twin", command: command("second") });
  const conflicts = async () =>
    (await knownMachine(client, "remote-2")).conflicts?.includes("twin") || undefined;
  await eventually(conflicts, "the conflict");
  const twins = async () => (await client.api.list()).filter(({ id }) => id === "twin");
  expect(await twins()).toMatchObject([{ source: "remote-1" }]);
  // If a request caused it, its id is in between.
  const told = /warn another remote already has the session id .*remote="remote-2" session="twin"/;
  await eventually(async () => told.test(cluster.hq.log) || undefined, "the warning in the log");
  await client.api.input("twin", { text: "typed\r" });
  await first.shows(/typed\ntyped/);
  expect(await direct.api.screen("twin")).toBe("second");
  await client.api.remove("twin");
  await client.api.remove("twin");
  await eventually(async () => (await twins())[0]?.source === "remote-2" || undefined, "the other one");
  expect(await client.api.screen("twin")).toBe("second");
});

test.concurrent("a session that was begun on the remote itself is in the list within 2 s, and is used there", async () => {
  using client = await cluster.client();
  const command = ["ttyhq", "run", "--detach", "--json", "--name", "by hand", "--", "cat"];
  let begun = "";
  const appear = async (): Promise<number> => {
    const { exitCode, stdout, stderr } = await cluster.remote("remote-1").exec(command);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const { id, created } = PrintedSession.parse(JSON.parse(stdout));
    begun = id;
    const listed = async () => (await client.api.list()).find((record) => record.id === id);
    expect(await eventually(listed, "the session")).toMatchObject({ name: "by hand", source: "remote-1" });
    return Date.now() - Date.parse(created);
  };
  expect(await bestTime(APPEARANCE_MS, appear)).toBeLessThan(APPEARANCE_MS);
  using terminal = await client.attach(begun);
  await terminal.type("typed\r");
  await terminal.shows(/^typed\ntyped$/m);
});

// Runs last, because it would remove ended sessions of the others.
test("all ended sessions of all machines are removed by one call, and no running one", async () => {
  using client = await cluster.client();
  const machines = await client.api.call(endpoints.listRemotes);
  using running = await run(client, "exec cat");
  const ended = await Promise.all(machines.map(({ id }) => client.run({ remoteId: id, command: ["true"] })));
  using stack = new DisposableStack();
  for (const terminal of ended) stack.use(terminal);
  await Promise.all(ended.map((terminal) => terminal.ended()));
  const { cleanedSessions } = await client.api.call(endpoints.cleanupExited);
  expect(cleanedSessions).toEqual(expect.arrayContaining(ended.map(({ sessionId }) => sessionId)));
  const left = await client.api.list();
  expect(left.map(({ id }) => id)).toContain(running.sessionId);
  expect(left.filter(({ status }) => status === "exited")).toEqual([]);
});
