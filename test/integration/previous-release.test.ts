// Upgrades from the previous release as it was published, and mixed versions (docs/upgrading.md).
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerClient } from "../../packages/testing/src/server-client.ts";
import type { TerminalClient } from "../../packages/testing/src/terminal-client.ts";
import { eventually } from "../../packages/testing/src/wait.ts";
import { ServiceError } from "../../src/protocol/errors.ts";
import type { CreateSessionBody } from "../../src/protocol/schemas/session.ts";
import { ttyhq } from "./harness/command.ts";
import { askAs, logIn, passwordServer, TOKEN_SECRET } from "./harness/password-server.ts";
import { RedisServer } from "./harness/redis-server.ts";
import { TestFleet } from "./harness/test-fleet.ts";

const ECHO = ["sh", "-c", "stty -echo; echo ready; exec cat"];

let folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
/** The program of the release. */
let main: string;

beforeAll(async () => {
  folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-release-"));
  const [release = ""] = globSync(join(import.meta.dirname, "../releases/ttyhq-*.tgz"));
  await promisify(execFile)("tar", ["-xzf", release, "-C", folder.path]);
  main = join(folder.path, "package/dist/main.js");
});
afterAll(() => folder.remove());

/** Echoes its input once: by the program. */
async function readyTerminal(
  client: ServerClient,
  more: Partial<CreateSessionBody>,
): Promise<TerminalClient> {
  const terminal = await client.run({ command: ECHO, ...more });
  await terminal.shows(/^ready$/m);
  return terminal;
}

/** Types lines, and waits for the echo of each. Input refused because the remote is still away is repeated. */
async function types(terminal: TerminalClient, ...lines: readonly string[]): Promise<void> {
  for (const line of lines) {
    await terminal.connected();
    await eventually(async () => {
      const refusal = await terminal.type(`${line}\n`).catch((error: unknown) => error);
      if (refusal instanceof ServiceError && refusal.code === "remote_unreachable") return undefined;
      if (refusal !== undefined) throw refusal;
      return true;
    }, `"${line}" typed`);
    await terminal.shows(new RegExp(`^${line}$`, "m"));
  }
}

test("an upgraded server continues with sessions, recordings, logins, tokens, shares and settings", async () => {
  await using config = await mkdtempDisposable(join(tmpdir(), "ttyhq-config-"));
  const file = join(config.path, "config.yaml");
  await writeFile(file, "public-url: https://term.example.com\nkeep-recordings: 10d\n");
  await using server = await passwordServer("apart", { main, args: ["--config", file] });
  const login = await logIn(server);
  const apiToken = { name: "ci", scope: ["sessions:view"], expiresIn: 3_600 };
  const { json: token } = await askAs(login, server, "/api/auth/tokens", { body: apiToken });
  using client = new ServerClient({ url: server.url, credentials: { token: login } });
  const { id: endedId } = await client.api.create({ command: ["sh", "-c", "echo kept; exit 3"] });
  using terminal = await readyTerminal(client, { name: "upgraded" });
  const session = await client.api.get(terminal.sessionId);
  const { json: share } = await askAs(login, server, `/api/sessions/${session.id}/share`, { body: {} });
  const recordingOf = async (id: string) =>
    (await askAs(login, server, `/api/sessions/${id}/recording`)).text;
  const recording = await eventually(async () => {
    const { status, exitCode } = await client.api.get(endedId);
    return status === "exited" && exitCode === 3 ? await recordingOf(endedId) : undefined;
  }, "the end of the first session");
  await types(terminal, "before");

  await server.upgrade();
  await types(terminal, "after");
  expect(await client.api.get(session.id)).toMatchObject({
    pid: session.pid,
    key: session.key,
    name: "upgraded",
  });
  expect(terminal.screen).toBe("ready\nbefore\nafter");
  expect(await recordingOf(endedId)).toBe(recording);
  expect((await askAs(token.token, server, "/api/sessions")).json).toHaveLength(2);
  expect((await askAs(share.token, server, `/api/sessions/${session.id}`)).json).toMatchObject({
    name: "upgraded",
  });
  const another = await askAs(login, server, `/api/sessions/${session.id}/share`, { body: {} });
  expect(another.json.url).toMatch(/^https:\/\/term\.example\.com\//);

  // This version's session host reads the files of the release's.
  await server.killHost("SIGTERM");
  await server.restart();
  expect(await recordingOf(endedId)).toBe(recording);
  expect(await recordingOf(session.id)).toContain("after");
});

const ORDERS = [
  [
    "the HQ before its remote",
    "an HQ works with a remote of the release before",
    (fleet: TestFleet) => [fleet.hq, fleet.remote("worker-1")],
    "remote worker-1",
  ],
  [
    "the remote before its HQ",
    "a remote works with an HQ of the release before",
    (fleet: TestFleet) => [fleet.remote("worker-1"), fleet.hq],
    "HQ",
  ],
] as const;

test.each(ORDERS)(
  "upgrading %s, %s, and viewers at the HQ have every byte once",
  async (_order, _meaning, partsOf, last) => {
    await using fleet = await TestFleet.start({ main });
    const { id: remoteId } = await fleet.record("worker-1");
    using client = new ServerClient({ url: fleet.hq.url });
    using terminal = await readyTerminal(client, { remoteId });
    await types(terminal, "before");
    const typed = ["ready", "before"];
    for (const [index, part] of partsOf(fleet).entries()) {
      await part.upgrade();
      await types(terminal, `upgrade ${index}`);
      typed.push(`upgrade ${index}`);
      expect(terminal.screen).toBe(typed.join("\n"));
      expect((await fleet.record("worker-1")).id).toBe(remoteId);
      const checked = await ttyhq(["upgrade", "--check", "--json", "--url", fleet.hq.url]);
      expect(checked).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(checked.stdout).order).toEqual(index === 0 ? [last] : []);
      using another = await readyTerminal(client, { remoteId });
      await types(another, "one more");
      await client.api.kill(another.sessionId, "SIGTERM");
    }
  },
);

test("an HQ of this version and one of the release before have the same remotes, with their sessions", async () => {
  await using redis = await RedisServer.start();
  const hqEnv = { TTYHQ_REGISTRY_URL: redis.url, TTYHQ_JWT_SECRET: TOKEN_SECRET };
  await using one = await TestFleet.start({ hqEnv, dials: false });
  await using other = await TestFleet.start({ hqEnv, main, remotes: 0 });
  await other.add("worker-2", { main });
  await Promise.all([one, other].map((fleet) => fleet.followed("worker-1", "worker-2")));
  for (const [from, to] of [[one, other] as const, [other, one] as const]) {
    for (const name of ["worker-1", "worker-2"]) {
      const { id } = await from.create(name, { command: ["cat"] });
      const isListed = async () => (await to.sessions()).some((session) => session.id === id) || undefined;
      await eventually(isListed, `a session of ${name}`);
      const { status } = await to.ask(`/api/sessions/${id}/input`, { body: { text: "x" } });
      expect(status).toBe(200);
    }
  }
});
