// Remotes join an HQ with keys of their own, and their credentials give no other access (contract 10.4).
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { ttyhq } from "../harness/command.ts";
import { CutProxy } from "../harness/cut-proxy.ts";
import { asAdmin, HandmadeRemote, newToken, startHq } from "../harness/handmade-remote.ts";
import { shakeHands } from "../harness/http.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { BACK, OUT_OF_REACH } from "../harness/replica.ts";
import { addressOf, DIALLING } from "../harness/test-fleet.ts";
import { NO_LIMITS, TestServer, type TestServerOptions } from "../harness/test-server.ts";

const startRemote = (
  hq: TestServer,
  name: string,
  { args = DIALLING, ...options }: TestServerOptions = {},
): Promise<TestServer> =>
  TestServer.start({
    asProcess: true,
    ...options,
    args: ["--hq-url", hq.url, "--allow-insecure-hq", "--name", name, ...NO_LIMITS, ...args],
    env: { SERVICE_USERNAME: "keeper", SERVICE_PASSWORD: "of the lighthouse", ...options.env },
  });

async function remoteOf(
  hq: TestServer,
  name: string,
): Promise<{ readonly id: string; readonly url: string }> {
  return await eventually(async () => {
    const { json } = await asAdmin(hq, "/api/remotes");
    return json.find((remote: { readonly name: string }) => remote.name === name);
  }, `${name} in the registry`);
}

let hq: TestServer;
beforeAll(async () => {
  hq = await startHq();
});
afterAll(() => hq[Symbol.asyncDispose]());

test("a remote joins with a token, and starts again without one, also at an HQ that was started again", async () => {
  const { token } = await newToken(hq, { name: "worker" });
  const first = await startRemote(hq, "worker", { env: { TTYHQ_JOIN_TOKEN: token } });
  const { id } = await remoteOf(hq, "worker");
  await first.kill();
  await hq.restart();
  await using again = await startRemote(hq, "worker", { controlDir: first.controlDir });
  await again.logged("registered with the HQ");
  await eventually(
    async () => ((await remoteOf(hq, "worker")).url === addressOf(again) ? true : undefined),
    "the new address",
  );
  expect((await remoteOf(hq, "worker")).id).toBe(id);
  const made = await asAdmin(hq, "/api/sessions", { body: { command: ["cat"], remoteId: id } });
  expect(made).toMatchObject({ status: 201, json: { source: "worker" } });
  // The token is used up.
  await using other = await startRemote(hq, "worker", { env: { TTYHQ_JOIN_TOKEN: token } });
  await other.logged("the join token is unknown, used up, expired or for another name than worker");
});

test("a remote without a pair, a token and a key does not start, and says what to give", async () => {
  await expect(startRemote(hq, "nobody")).rejects.toThrow(
    /--hq-url needs a proof for that HQ: give --join-token-file/,
  );
});

test("the password of the HQ logs people in, and joins no machine", async () => {
  const registration = { id: "x", name: "x", url: "http://127.0.0.1:9", token: "t" };
  const answers = await Promise.all([
    asAdmin(hq, "/api/remotes/register", { body: registration }),
    asAdmin(hq, "/api/remotes/x/refresh-sessions", { body: {} }),
    asAdmin(hq, "/api/remotes/x", { method: "DELETE" }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  expect(answers[0]?.json.error).toContain("--no-basic-join");
  expect((await asAdmin(hq, "/api/remotes")).status).toBe(200);
});

describe("the credential of a remote", () => {
  let victim: HandmadeRemote;
  let attacker: HandmadeRemote;
  beforeAll(async () => {
    victim = await HandmadeRemote.join(hq, "victim");
    attacker = await HandmadeRemote.join(hq, "attacker");
    expect((await victim.register(hq)).status).toBe(200);
  });
  afterAll(async () => {
    await victim[Symbol.asyncDispose]();
    await attacker[Symbol.asyncDispose]();
  });

  test("registers, refreshes and unregisters that remote", async () => {
    expect((await attacker.register(hq)).status).toBe(200);
    const refreshed = await attacker.ask(hq, "/api/remotes/attacker/refresh-sessions", { body: {} });
    expect(refreshed).toMatchObject({ status: 200, json: { sessionCount: 0 } });
    expect((await attacker.ask(hq, `/api/remotes/${attacker.id}`, { method: "DELETE" })).status).toBe(200);
  });

  test("registers, refreshes and unregisters no other one", async () => {
    const answers = await Promise.all([
      attacker.register(hq, { id: victim.id, name: "victim" }),
      attacker.register(hq, { id: victim.id }),
      attacker.register(hq, { name: "victim" }),
      attacker.ask(hq, "/api/remotes/victim/refresh-sessions", { body: {} }),
      attacker.ask(hq, `/api/remotes/${victim.id}`, { method: "DELETE" }),
    ]);
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual(
      answers.map(() => [403, "forbidden"]),
    );
    expect((await remoteOf(hq, "victim")).id).toBe(victim.id);
  });

  test("opens nothing else", async () => {
    const paths = [
      "/api/sessions",
      "/api/remotes",
      "/api/remotes/join-tokens",
      "/api/remotes/keys",
      "/api/clients",
    ];
    const answers = await Promise.all(paths.map((path) => attacker.ask(hq, path)));
    const made = await attacker.ask(hq, "/api/remotes/join-tokens", { body: { name: "victim" } });
    const proxied = await attacker.ask(hq, "/api/remotes/victim/proxy/api/sessions");
    const ticket = await attacker.ask(hq, "/api/auth/ws-ticket", { method: "POST" });
    const all = [...answers, made, proxied, ticket, await shakeHands(hq.url, "/ws", attacker.headers)];
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 403));
  });

  test("ends at once when its key is revoked", async () => {
    await using revoked = await HandmadeRemote.join(hq, "revoked");
    expect((await revoked.register(hq)).status).toBe(200);
    const { status } = await asAdmin(hq, "/api/remotes/keys/revoked", { method: "DELETE" });
    expect(status).toBe(200);
    expect((await revoked.register(hq)).status).toBe(403);
    const { json } = await asAdmin(hq, "/api/remotes");
    expect(json.map(({ name }: { readonly name: string }) => name)).not.toContain("revoked");
  });
});

test("the audit log has actions with tokens and keys, but no token", async () => {
  const { id, token } = await newToken(hq, { name: "audited" });
  await asAdmin(hq, `/api/remotes/join-tokens/${id}`, { method: "DELETE" });
  const text = await eventually(async () => {
    const log = await readFile(join(hq.controlDir, "audit.log"), "utf8");
    return log.includes("join-token.revoke") ? log : undefined;
  }, "the line of the audit log");
  expect(text).toContain(`"action":"join-token.create"`);
  expect(text).toContain(id);
  expect(text).not.toContain(token);
  expect(hq.log).not.toContain(token);
});

test("tokens are made, listed and revoked at the HQ by the command line", async () => {
  const at = (...args: readonly string[]) => ttyhq([...args, "--control-dir", hq.controlDir]);
  const made = await at("join-token", "create", "--name", "cli-*", "--ttl", "2h", "--reusable", "--json");
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const { id, token } = JSON.parse(made.stdout);
  const listed = await at("join-token", "list");
  expect(listed.stdout).toMatch(new RegExp(`${id} +cli-\\* +yes`));
  expect(listed.stdout).not.toContain(token);
  expect(await at("join-token", "revoke", id)).toMatchObject({ code: 0, stdout: `${id} revoked\n` });
  expect(await at("join-token", "revoke", id)).toMatchObject({
    code: 1,
    stderr: `ttyhq: no join token ${id}\n`,
  });
});

test("a remote joins with a token that the HQ was started with", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-token-"));
  const file = join(folder.path, "join-token");
  await writeFile(file, "a token of at least thirty-two letters\n");
  await using guarded = await startHq(["--join-token-file", file, "--join-token-name", "pod-*"]);
  await using _remote = await startRemote(guarded, "pod-0", { env: { TTYHQ_JOIN_TOKEN_FILE: file } });
  await remoteOf(guarded, "pod-0");
});

test("HQs that share their registry share tokens and keys: a token works once at all of them", async () => {
  await using redis = await RedisServer.start();
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-shared-"));
  const [url, secret] = [join(folder.path, "registry-url"), join(folder.path, "jwt-secret")];
  await writeFile(url, redis.url);
  await writeFile(secret, "a secret of at least 32 bytes, as it were");
  const args = ["--registry-url-file", url, "--jwt-secret-file", secret];
  await using one = await startHq(args);
  await using other = await startHq(args);
  const { token } = await newToken(one, { name: "worker" });
  // Such HQs refuse remotes that dial.
  const direct = { args: [] };
  const remote = await startRemote(other, "worker", { ...direct, env: { TTYHQ_JOIN_TOKEN: token } });
  await remoteOf(one, "worker");
  expect((await asAdmin(one, "/api/remotes/join-tokens")).json).toEqual([]);
  expect((await asAdmin(one, "/api/remotes/keys")).json).toMatchObject([{ name: "worker" }]);
  await remote.kill();
  await using again = await startRemote(one, "worker", { ...direct, controlDir: remote.controlDir });
  await again.logged("registered with the HQ");
});

test("a remote that is revoked while one HQ is cut off from Redis leaves both", async () => {
  await using redis = await RedisServer.start();
  await using proxy = await CutProxy.open(redis.host.port);
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-revoked-"));
  const secret = join(folder.path, "jwt-secret");
  await writeFile(secret, "a secret of at least 32 bytes, as it were");
  const start = async (name: string, url: string): Promise<TestServer> => {
    const file = join(folder.path, name);
    await writeFile(file, url);
    return await startHq(["--registry-url-file", file, "--jwt-secret-file", secret]);
  };
  const proxied = new URL(redis.url);
  proxied.port = new URL(proxy.url).port;
  await using one = await start("one", redis.url);
  await using other = await start("other", proxied.href);
  const namesAt = async (at: TestServer): Promise<readonly string[]> =>
    (await asAdmin(at, "/api/remotes")).json.map(({ name }: { readonly name: string }) => name);
  await using revoked = await HandmadeRemote.join(one, "revoked");
  expect((await revoked.register(one)).status).toBe(200);
  await remoteOf(other, "revoked");
  proxy.cut();
  await other.logged(OUT_OF_REACH);
  expect((await asAdmin(one, "/api/remotes/keys/revoked", { method: "DELETE" })).status).toBe(200);
  proxy.mend();
  await other.logged(BACK);
  await eventually(async () => (await namesAt(other)).length === 0 || undefined, "no remote at the other");
  expect([await namesAt(one), await namesAt(other)]).toEqual([[], []]);
  expect((await revoked.register(other)).status).toBe(403);
});
