import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type FakeAnswer, fakeServer } from "../../fake-server.ts";
import { record } from "../../record.ts";
import { ran } from "../../run-cli.ts";

const CORDONED = { status: 200, body: { success: true, machine: "box", cordoned: true } };
const refusal = (status: number, code: string): FakeAnswer => {
  return { status, body: { error: `refused: ${code}`, code, details: {} } };
};

const remote = { id: "1", name: "build-1", url: "http://box:1", registeredAt: "", lastHeartbeat: "" };
const CORDONED_REMOTE = {
  status: 200,
  body: { success: true, remote: { ...remote, sessionIds: [], cordoned: true } },
};

test("drain --end goes on when a session has been removed meanwhile", async () => {
  const sessions = [record({ id: "one" }), record({ id: "two" })];
  await using server = await fakeServer((request) => {
    if (request === "POST /api/cordon") return CORDONED;
    if (request === "GET /api/sessions") return { status: 200, body: sessions };
    if (request.startsWith("DELETE /api/sessions/one")) return refusal(404, "session_not_found");
    return { status: 200, body: { success: true, status: "exited", exitCode: 0 } };
  });
  const result = await ran(["drain", "--end", "--control-dir", server.controlDir]);
  expect(result).toEqual({ exitCode: 0, stdout: "box runs no sessions, 1 ended\n", stderr: "" });
  expect(server.requests).toContain("DELETE /api/sessions/two?if=running");
});

test("drain --end ends what it can, and reports that beside what still runs", async () => {
  const sessions = [record({ id: "one" }), record({ id: "two" }), record({ id: "three" })];
  await using server = await fakeServer((request) => {
    if (request === "POST /api/cordon") return CORDONED;
    if (request === "GET /api/sessions") return { status: 200, body: sessions };
    if (request.startsWith("DELETE /api/sessions/two")) return refusal(502, "remote_unreachable");
    return { status: 200, body: { success: true, status: "exited", exitCode: 0 } };
  });
  const drain = ["drain", "--end", "--control-dir", server.controlDir];
  const { exitCode, stdout, stderr } = await ran(drain);
  expect(exitCode).toBe(1);
  expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual(["ID", "two", ""]);
  expect(stderr).toBe("ttyhq: 1 session still runs, 2 ended; refused: remote_unreachable\n");
  expect(JSON.parse((await ran([...drain, "--json"])).stdout)).toMatchObject({
    ...{ running: [{ id: "two" }], ended: [{ id: "one" }, { id: "three" }] },
  });
});

test("drain --end ends sessions beyond the limit of calls when it is over", async () => {
  const details = { retryAfterSeconds: 0.01 };
  const limit = { status: 429, body: { error: "too many calls", code: "rate_limited", details } };
  const answers = [limit, limit];
  await using server = await fakeServer((request) => {
    if (request === "POST /api/cordon") return CORDONED;
    if (request === "GET /api/sessions") return { status: 200, body: [record({ id: "one" })] };
    return answers.shift() ?? { status: 200, body: { success: true, status: "exited", exitCode: 0 } };
  });
  const result = await ran(["drain", "--end", "--control-dir", server.controlDir]);
  expect(result).toEqual({ exitCode: 0, stdout: "box runs no sessions, 1 ended\n", stderr: "" });
});

test("drain --wait repeats a temporary refusal and ends at a final one", async () => {
  const answers = [refusal(503, "shutting_down"), refusal(403, "forbidden")];
  await using server = await fakeServer((request) =>
    request === "POST /api/cordon" ? CORDONED : (answers.shift() ?? { status: 200, body: [] }),
  );
  expect(await ran(["drain", "--wait", "--control-dir", server.controlDir])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "ttyhq: refused: forbidden\n",
  });
});

test("drain --session-host does not cordon a server with a URL instead", async () => {
  expect(await ran(["drain", "--session-host", "--url", "http://127.0.0.1:1"])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "ttyhq: --session-host is asked by its control directory, not by --url\n",
  });
});

test("drain --session-host does not take the sessions of this machine for those of another one", async () => {
  await using server = await fakeServer(() => ({ status: 200, body: [record({ id: "one" })] }));
  symlinkSync(join(server.controlDir, "server.sock"), join(server.controlDir, "host.sock"));
  const result = await ran(["drain", "--session-host", "build-1", "--control-dir", server.controlDir]);
  expect(result).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "ttyhq: --session-host is for this machine alone: leave build-1 out\n",
  });
  expect(server.requests).toEqual([]);
});

test("drain --deadline waits, so that --end ends no session before it", async () => {
  const lists = [[record({ id: "one" })]];
  await using server = await fakeServer((request) =>
    request === "POST /api/cordon" ? CORDONED : { status: 200, body: lists.shift() ?? [] },
  );
  const result = await ran(["drain", "--deadline", "10m", "--end", "--control-dir", server.controlDir]);
  expect(result).toEqual({ exitCode: 0, stdout: "box runs no sessions\n", stderr: "" });
  expect(server.requests).toEqual(["POST /api/cordon", "GET /api/sessions", "GET /api/sessions"]);
});

test("drain --wait waits for a machine that has left the HQ, which does not list its sessions meanwhile", async () => {
  const answers = [
    refusal(404, "remote_not_found"),
    { status: 200, body: [record({ id: "one" })] },
    { status: 200, body: [record({ id: "one", status: "exited" })] },
  ];
  await using server = await fakeServer((request) => {
    if (request === "POST /api/remotes/build-1/cordon") return CORDONED_REMOTE;
    if (request === "GET /api/sessions") return { status: 200, body: [] };
    return answers.shift() ?? refusal(500, "internal_error");
  });
  const result = await ran(["drain", "--wait", "build-1", "--control-dir", server.controlDir]);
  expect(result).toEqual({ exitCode: 0, stdout: "build-1 runs no sessions\n", stderr: "" });
  expect(answers).toEqual([]);
});

test("drain --end ends no session of another machine that the drained one answers as its own", async () => {
  const victim = record({ id: "one", source: "build-2" });
  await using server = await fakeServer((request) => {
    if (request === "POST /api/remotes/build-1/cordon") return CORDONED_REMOTE;
    if (request === "GET /api/sessions") return { status: 200, body: [victim] };
    if (request === "GET /api/remotes/build-1/proxy/api/sessions")
      return { status: 200, body: [{ ...victim, source: "build-1" }] };
    return { status: 200, body: { success: true, status: "exited", exitCode: 0 } };
  });
  const result = await ran(["drain", "--end", "build-1", "--control-dir", server.controlDir]);
  expect(result).toEqual({ exitCode: 0, stdout: "build-1 runs no sessions\n", stderr: "" });
  expect(server.requests.filter((request) => request.startsWith("DELETE"))).toEqual([]);
});
