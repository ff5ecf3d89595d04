// Our remote under an HQ that implements only the specification.
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { SpecHq } from "../fixtures/spec-hq.ts";
import { bestTime } from "../harness/best-time.ts";
import { ask } from "../harness/http.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { OPEN, TestServer } from "../harness/test-server.ts";

const CREDENTIALS = { username: "other", password: "program" } as const;

/** Without a login, so that the test can use it directly. */
function startRemote(hq: SpecHq): Promise<TestServer> {
  const to = ["--hq-url", hq.url, "--allow-insecure-hq", "--name", "worker-1"];
  return TestServer.start({
    asProcess: true,
    args: [...to, ...OPEN],
    env: { TTYHQ_HQ_USERNAME: CREDENTIALS.username, TTYHQ_HQ_PASSWORD: CREDENTIALS.password },
  });
}

const joined = (hq: SpecHq) => eventually(async () => hq.remotes.get("worker-1"), "the registration");

test("a remote registers with Basic, tells its sessions, and is driven by create, get, input, resize and delete", async () => {
  await using hq = await SpecHq.open(CREDENTIALS);
  await using remote = await startRemote(hq);
  const { id: remoteId, url } = await joined(hq);
  expect(url).toBe(remote.url);
  const at = (path: string, more: object = {}) => ask(hq.url, path, { headers: hq.headers, ...more });

  const told = await remote.client().create({ command: ["cat"] });
  await eventually(
    async () => hq.remotes.get("worker-1")?.sessionIds.includes(told.id) || undefined,
    "its id",
  );

  const script = "stty -echo; echo ready; read line; stty size; echo $line; cat";
  const body = { remoteId, command: ["sh", "-c", script], cwd: "/tmp", cols: 100, rows: 30, name: "mine" };
  const created = await at("/api/sessions", { body });
  expect([created.status, created.json]).toEqual([
    201,
    expect.objectContaining({ name: "mine", status: "running", pid: expect.any(Number) }),
  ]);
  expect(new Date(created.json.created).toISOString()).toBe(created.json.created);
  const { id } = created.json;
  expect((await at(`/api/sessions/${id}`)).json).toMatchObject({ id, name: "mine", status: "running" });
  const sources = (await at("/api/sessions")).json.map(({ source }: { source: string }) => source);
  expect(sources).toEqual(["worker-1", "worker-1"]);

  await using viewer = await RawSocket.open(hq.url);
  viewer.subscribe(id, { flags: SubscribeFlag.Stdout });
  await viewer.shows(/ready\r\n/);
  expect((await at(`/api/sessions/${id}/resize`, { body: { cols: 132, rows: 43 } })).status).toBe(200);
  expect((await at(`/api/sessions/${id}/input`, { body: { text: "typed\n" } })).status).toBe(200);
  await viewer.shows(/43 132\r\ntyped\r\n/);
  expect(textOf(viewer.output(id))).toBe("ready\r\n43 132\r\ntyped\r\n");
  expect(viewer.of(FrameType.OUTPUT)).toEqual([]);

  expect((await at(`/api/sessions/${id}`, { method: "DELETE" })).status).toBe(200);
  expect((await at(`/api/sessions/${id}`)).json.status).not.toBe("running");
  expect((await at(`/api/sessions/${id}`, { method: "DELETE" })).status).toBe(200);
  expect((await at(`/api/sessions/${id}`)).status).toBe(404);
});

test("a remote that its HQ has forgotten is back within 2 s of its next use", async () => {
  await using hq = await SpecHq.open(CREDENTIALS);
  await using remote = await startRemote(hq);
  await joined(hq);
  await remote.logged("registered with the HQ");
  const ids: string[] = [];
  const back = async (): Promise<number> => {
    hq.remotes.clear();
    const started = performance.now();
    ids.push((await remote.client().create({ command: ["cat"] })).id);
    await joined(hq);
    return performance.now() - started;
  };
  expect(await bestTime(2_000, back)).toBeLessThan(2_000);
  await remote.logged("session not announced to the HQ");
  const listed: readonly { readonly id: string }[] = (
    await ask(hq.url, "/api/sessions", { headers: hq.headers })
  ).json;
  const expected = ids.map((id) => expect.objectContaining({ id, source: "worker-1" }));
  expect(listed).toHaveLength(ids.length);
  expect(listed).toEqual(expect.arrayContaining(expected));
});

test("an unused remote registers again with a restarted HQ that lost its registry", async () => {
  await using hq = await SpecHq.open(CREDENTIALS);
  await using remote = await startRemote(hq);
  const { id } = await joined(hq);
  const session = await remote.client().create({ command: ["cat"] });
  const back = async (): Promise<number> => {
    await hq.restart();
    const started = performance.now();
    expect((await joined(hq)).id).toBe(id);
    return performance.now() - started;
  };
  expect(await bestTime(7_000, back)).toBeLessThan(7_000);
  const listed = (await ask(hq.url, "/api/sessions", { headers: hq.headers })).json;
  expect(listed).toEqual([expect.objectContaining({ id: session.id, source: "worker-1" })]);
});

test("a remote passes the health check of the specification, is removed by it when it has gone, and is back when it is started again", async () => {
  await using hq = await SpecHq.open({ ...CREDENTIALS, healthCheckMs: 200 });
  await using remote = await startRemote(hq);
  const { id } = await joined(hq);
  const gone = () => eventually(async () => !hq.remotes.has("worker-1") || undefined, "the removal");
  await eventually(async () => hq.healthy >= 3 || undefined, "three health checks");
  expect(hq.remotes.has("worker-1")).toBe(true);
  await remote.kill();
  await gone();
  await remote.restart();
  expect((await joined(hq)).id).toBe(id);
  // The specification has no way to leave: the remote stops in order all the same.
  expect(await remote.kill("SIGTERM")).toMatchObject({ code: 0 });
  await gone();
});
