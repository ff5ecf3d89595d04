// Logins, share links and tickets of two HQs that share their registry: an end at one HQ applies at both.
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { NewShare } from "../../../src/protocol/schemas/share.ts";
import { base64, newKey } from "../../unit/auth/ssh/key-pair.ts";
import { bestTime } from "../harness/best-time.ts";
import { ttyhq } from "../harness/command.ts";
import { type Answer, ask } from "../harness/http.ts";
import { PASSWORD, TOKEN_SECRET, USERNAME } from "../harness/password-server.ts";
import { Person } from "../harness/people.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { BACK, OUT_OF_REACH } from "../harness/replica.ts";
import { NO_LIMITS, TestServer } from "../harness/test-server.ts";

const OUT_WITHIN_MS = 1_000;
const LOGIN_OVER = 4401;
const LOGIN = { TTYHQ_USERNAME: USERNAME, TTYHQ_PASSWORD: PASSWORD, TTYHQ_JWT_SECRET: TOKEN_SECRET };

let owned: AsyncDisposableStack;
let redis: RedisServer;
let first: TestServer;
let second: TestServer;
let hqs: readonly TestServer[];
let args: readonly string[];

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  redis = stack.use(await RedisServer.start());
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-shared-")));
  const url = join(folder.path, "registry-url");
  await writeFile(url, redis.url);
  args = ["--hq", "--registry-url-file", url, "--enable-ssh-keys", ...NO_LIMITS];
  first = stack.use(await TestServer.start({ asProcess: true, args, env: LOGIN }));
  second = stack.use(await TestServer.start({ asProcess: true, args, env: LOGIN }));
  hqs = [first, second];
  owned = stack.move();
});
afterAll(() => owned[Symbol.asyncDispose]());

async function logIn(hq: TestServer): Promise<string> {
  const { json } = await ask(hq.url, "/api/auth/token", { body: { password: PASSWORD } });
  return json.token;
}

async function logOut(token: string, hq: TestServer): Promise<Answer> {
  return await new Person(hq, token).ask("/api/auth/logout", { method: "POST" });
}

async function statuses(token: string, calls = 1): Promise<readonly number[]> {
  const all: number[] = [];
  for (let call = 0; call < calls; call++) {
    for (const hq of hqs) all.push((await new Person(hq, token).ask("/api/sessions")).status);
  }
  return all;
}

/** Resolves when both have logged it since then. */
async function bothSay(words: string, work: () => Promise<void>): Promise<void> {
  const before = hqs.map((hq) => hq.log.split(words).length);
  await work();
  const isSaid = async () =>
    hqs.every((hq, at) => hq.log.split(words).length > (before[at] ?? 0)) || undefined;
  await eventually(isSaid, words);
}

const stopRedis = (isDataKept: boolean): Promise<void> =>
  bothSay(OUT_OF_REACH, () => redis.stop({ isDataKept }));
const resumeRedis = (): Promise<void> => bothSay(BACK, () => redis.resume());

test("a token of one HQ is valid at the other at once, and after a logout at neither, on no call of 12", async () => {
  const token = await logIn(first);
  expect(await statuses(token, 6)).toEqual(Array(12).fill(200));
  expect((await logOut(token, second)).status).toBe(200);
  expect(await statuses(token, 6)).toEqual(Array(12).fill(401));
});

test("sockets at one are closed within a second of a logout at the other", async () => {
  const closed = async (): Promise<number> => {
    const token = await logIn(first);
    await using socket = await new Person(first, token).connect();
    const at = performance.now();
    await logOut(token, second);
    expect((await socket.closed()).code).toBe(LOGIN_OVER);
    return performance.now() - at;
  };
  expect(await bestTime(OUT_WITHIN_MS, closed)).toBeLessThan(OUT_WITHIN_MS);
});

test("a login that is ended at one HQ ends at the other, with its sockets, and the user's other logins stay", async () => {
  const [lost, mine] = [new Person(first, await logIn(first)), new Person(second, await logIn(second))];
  await using socket = await lost.connect();
  const { json } = await lost.ask("/api/auth/logins");
  const { id } = json.find(({ current }: { readonly current: boolean }) => current);
  const listed = async () =>
    (await mine.ask("/api/auth/logins")).json.some((login: { readonly id: string }) => login.id === id) ||
    undefined;
  await eventually(listed, "the login of the other HQ");
  expect((await mine.ask(`/api/auth/logins/${id}`, { method: "DELETE" })).status).toBe(200);
  expect((await socket.closed()).code).toBe(LOGIN_OVER);
  for (const hq of hqs) {
    expect((await ask(hq.url, "/api/sessions", { headers: lost.headers })).status).toBe(401);
    expect((await ask(hq.url, "/api/sessions", { headers: mine.headers })).status).toBe(200);
  }
});

test("an API token of one works at the other, and one that is revoked works at neither and has nothing open", async () => {
  const [one, other] = [new Person(first, await logIn(first)), new Person(second, await logIn(second))];
  const body = { name: "ci", scope: ["sessions:view"], expiresIn: 3_600 };
  const { json: made } = await one.ask("/api/auth/tokens", { body });
  expect(await statuses(made.token, 6)).toEqual(Array(12).fill(200));
  await using socket = await new Person(first, made.token).connect();
  expect((await other.ask(`/api/auth/tokens/${made.id}`, { method: "DELETE" })).status).toBe(200);
  expect((await socket.closed()).code).toBe(LOGIN_OVER);
  expect(await statuses(made.token, 6)).toEqual(Array(12).fill(401));
});

test("a ticket works at the other HQ, and of many simultaneous uses at both one succeeds", async () => {
  const person = new Person(first, await logIn(first));
  for (let round = 0; round < 5; round++) {
    const { json } = await person.ask("/api/auth/ws-ticket", { method: "POST" });
    const where = round === 0 ? [second] : [second, first, second, first];
    const tries = where.map((hq) => RawSocket.open(hq.url, { path: `/ws?token=${json.ticket}` }));
    const outcomes = await Promise.allSettled(tries);
    const open = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    for (const socket of open) await socket[Symbol.asyncDispose]();
    expect(open).toHaveLength(1);
  }
});

test("a challenge of one is answered with an SSH key at the other, once at all of them", async () => {
  const key = newKey();
  for (const { controlDir } of hqs) {
    await mkdir(join(controlDir, ".ssh"), { mode: 0o700 });
    await writeFile(join(controlDir, ".ssh/authorized_keys"), `${key.line}\n`, { mode: 0o600 });
  }
  for (const [from, to] of [[first, second] as const, [second, first] as const]) {
    const { json } = await ask(from.url, "/api/auth/challenge", { body: { userId: USERNAME } });
    const signature = base64(key.sign(Buffer.from(json.challenge, "base64")));
    const body = { challengeId: json.challengeId, publicKey: key.line, signature };
    const tries = [to, from, to].map((hq) => ask(hq.url, "/api/auth/ssh-login", { body }));
    const outcomes = (await Promise.all(tries)).map(({ status }) => status);
    expect(outcomes.toSorted()).toEqual([200, 401, 401]);
  }
});

test("a login link of one logs in at the other, once at all of them", async () => {
  const { stdout } = await ttyhq(["login-link", "--control-dir", first.controlDir]);
  const body = { ticket: new URL(stdout.trim()).hash.replace("#login=", "") };
  const tries = [second, first, second].map((hq) => ask(hq.url, "/api/auth/token", { body }));
  const outcomes = (await Promise.all(tries)).map(({ status }) => status);
  expect(outcomes.toSorted()).toEqual([200, 401, 401]);
});

test("a share link that one made is listed and revoked at the other, and its guest is out", async () => {
  const name = "worker";
  const to = ["--hq-url", first.url, "--allow-insecure-hq", "--name", name, ...NO_LIMITS];
  await using _worker = await TestServer.start({
    asProcess: true,
    args: to,
    env: {
      ...{ SERVICE_USERNAME: "keeper", SERVICE_PASSWORD: "of the lighthouse" },
      ...{ TTYHQ_HQ_USERNAME: USERNAME, TTYHQ_HQ_PASSWORD: PASSWORD },
    },
  });
  const [one, other] = [new Person(first, await logIn(first)), new Person(second, await logIn(second))];
  const remoteId = await eventually(async () => (await one.ask("/api/remotes")).json[0]?.id, "the remote");
  const { id } = await one.start({ command: ["cat"], cwd: "/", remoteId });
  const path = `/api/sessions/${id}`;
  const share = NewShare.parse((await one.ask(`${path}/share`, { body: {} })).json);
  const people = hqs.map((hq) => new Person(hq, share.token));
  for (const person of people) expect((await person.ask(path)).status).toBe(200);
  const sockets = await Promise.all(people.map((person) => person.connect()));
  expect((await other.ask(`${path}/shares`)).json).toEqual([expect.objectContaining({ id: share.id })]);
  expect((await other.ask(`${path}/shares/${share.id}`, { method: "DELETE" })).status).toBe(200);
  for (const socket of sockets) expect((await socket.closed()).code).toBe(LOGIN_OVER);
  for (const person of people) expect((await person.ask(path)).status).toBe(401);
  expect((await one.ask(`${path}/shares`)).json).toEqual([]);
});

test("ended logins stay ended, and others stay valid, when an HQ or Redis restarts", async () => {
  const [kept, over] = [await logIn(first), await logIn(first)];
  await logOut(over, first);
  await second.kill();
  const whileAway = await logIn(first);
  await logOut(whileAway, first);
  await second.restart();
  await stopRedis(true);
  await resumeRedis();
  expect(await statuses(kept)).toEqual([200, 200]);
  for (const token of [over, whileAway]) expect(await statuses(token)).toEqual([401, 401]);
});

test("a Redis that lost everything restores no ended login", async () => {
  const [kept, over] = [await logIn(first), await logIn(first)];
  expect(await statuses(kept)).toEqual([200, 200]);
  await logOut(over, second);
  await stopRedis(false);
  await resumeRedis();
  await second.restart();
  expect(await statuses(kept)).toEqual([200, 200]);
  expect(await statuses(over)).toEqual([401, 401]);
});

test("while Redis is unreachable known logins are valid, tickets are refused, and a logout is propagated later", async () => {
  const [kept, over, leaving] = [await logIn(first), await logIn(first), await logIn(first)];
  for (const token of [kept, over, leaving]) expect(await statuses(token)).toEqual([200, 200]);
  await logOut(over, first);
  const { json } = await new Person(first, kept).ask("/api/auth/ws-ticket", { method: "POST" });
  await stopRedis(true);
  expect(await statuses(kept)).toEqual([200, 200]);
  expect(await statuses(over)).toEqual([401, 401]);
  const unavailable = { status: 503, json: { code: "registry_unavailable" } };
  await expect(RawSocket.open(second.url, { path: `/ws?token=${json.ticket}` })).rejects.toThrow();
  expect(await new Person(first, kept).ask("/api/auth/ws-ticket", { method: "POST" })).toMatchObject(
    unavailable,
  );
  expect(await logOut(leaving, first)).toMatchObject(unavailable);
  expect((await new Person(first, leaving).ask("/api/sessions")).status).toBe(401);
  const late = await logIn(first);
  expect((await new Person(first, late).ask("/api/sessions")).status).toBe(200);
  expect(await new Person(second, late).ask("/api/sessions")).toMatchObject(unavailable);
  await resumeRedis();
  expect(await statuses(late)).toEqual([200, 200]);
  for (const token of [over, leaving]) expect(await statuses(token)).toEqual([401, 401]);
});

test("a token of another server is refused, though it has the same secret", async () => {
  await using other = await TestServer.start({ asProcess: true, args: ["--hq", ...NO_LIMITS], env: LOGIN });
  const token = await logIn(first);
  expect((await new Person(other, token).ask("/api/sessions")).status).toBe(401);
  expect(await statuses(await logIn(other))).toEqual([401, 401]);
});

test("nothing that opens anything stands in Redis", async () => {
  const token = await logIn(first);
  const { json } = await new Person(first, token).ask("/api/auth/ws-ticket", { method: "POST" });
  const everything = await redis.ask(async (asking) => {
    const keys = await asking.keys("*");
    expect(keys.filter((key) => !key.startsWith("ttyhq:"))).toEqual([]);
    return JSON.stringify([
      await asking.hgetall("ttyhq:records"),
      await asking.hgetall("ttyhq:tickets:ws"),
      await asking.xrange("ttyhq:changes", "-", "+"),
    ]);
  });
  const id = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).jti;
  expect(everything).toContain(id);
  for (const secret of [token, token.split(".")[2] ?? "", json.ticket, `"${USERNAME}"`]) {
    expect(everything).not.toContain(secret);
  }
});

test("guesses at one HQ are refused at the other, and at each by itself while Redis is unreachable", async () => {
  const guess = async (hq: TestServer, address: string): Promise<number> => {
    const body = { username: `somebody-at-${address}`, password: "a guess" };
    return (await ask(hq.url, "/api/auth/token", { body, from: address })).status;
  };
  const toldTo = (count: number): Promise<true> =>
    eventually(async () => {
      return (await redis.ask((asking) => asking.xlen("ttyhq:failed-logins"))) >= count || undefined;
    }, `${count} failures in Redis`);
  /** The statuses up to the first refusal without checking the guess. */
  const guesses = async (hq: TestServer, address: string): Promise<readonly number[]> => {
    const all: number[] = [];
    while (all.at(-1) !== 429) all.push(await guess(hq, address));
    return all;
  };
  const before = await redis.ask((asking) => asking.xlen("ttyhq:failed-logins"));
  expect(await guesses(first, "127.0.0.5")).toEqual([...Array(10).fill(401), 429]);
  await toldTo(before + 10);
  // An HQ learns of the others' failures after its own: with the answer to one, before the next check.
  for (const [index, address] of ["127.0.0.6", "127.0.0.7"].entries()) {
    expect(await guess(second, address)).toBe(401);
    await toldTo(before + 11 + index);
  }
  expect(await guesses(second, "127.0.0.5")).toEqual([429]);
  expect(
    JSON.stringify(await redis.ask((asking) => asking.xrange("ttyhq:failed-logins", "-", "+"))),
  ).not.toMatch(/127\.0\.0|somebody/);
  await stopRedis(true);
  for (const hq of hqs) expect(await guesses(hq, "127.0.0.8")).toEqual([...Array(10).fill(401), 429]);
  await resumeRedis();
});

test("the audit log of one has the lines of both, page by page, and of an HQ that is gone", async () => {
  const logouts = async (token: string, search = ""): Promise<readonly string[]> => {
    const { json } = await new Person(first, token).ask(`/api/audit?action=logout&limit=1${search}`);
    const ids = json.entries.map(({ requestId }: { readonly requestId: string }) => requestId);
    return json.next === undefined ? ids : [...ids, ...(await logouts(token, `&cursor=${json.next}`))];
  };
  const reader = await logIn(first);
  const done: string[] = [];
  {
    await using third = await TestServer.start({ asProcess: true, args, env: LOGIN });
    for (const hq of [...hqs, third])
      done.push(`${(await logOut(await logIn(hq), hq)).headers["x-request-id"]}`);
  }
  await eventually(async () => {
    const all = await logouts(reader);
    return done.every((id) => all.filter((each) => each === id).length === 1) || undefined;
  }, "the lines of three HQs, each once");
  const { json } = await new Person(second, reader).ask("/api/audit?action=server.stop");
  expect(json.entries).toContainEqual(expect.objectContaining({ action: "server.stop", hq: hostname() }));
});

test("without Redis no partial audit log is shown, and no line of that time is lost", async () => {
  const reader = await logIn(first);
  await stopRedis(true);
  const refused = await new Person(first, reader).ask("/api/audit");
  expect(refused).toMatchObject({ status: 503, json: { code: "registry_unavailable" } });
  await resumeRedis();
  await eventually(async () => {
    const { json } = await new Person(second, reader).ask("/api/audit?action=audit.read&result=failed");
    const ids = json.entries.map(({ requestId }: { readonly requestId: string }) => requestId);
    return ids.includes(refused.headers["x-request-id"]) || undefined;
  }, "the line of the time without Redis");
});

test("a caller who has used up the calls of a minute at one HQ is refused at the other soon after", async () => {
  const limit = 500;
  const limited = [...args.slice(0, -NO_LIMITS.length), "--rate-limit-api", `${limit}`];
  await using one = await TestServer.start({ asProcess: true, args: limited, env: LOGIN });
  await using other = await TestServer.start({ asProcess: true, args: limited, env: LOGIN });
  const token = await logIn(one);
  const statusAt = async (hq: TestServer): Promise<number> =>
    (await new Person(hq, token).ask("/api/sessions")).status;
  let calls = 0;
  await eventually(async () => {
    // Also if a new minute has begun.
    while ((await statusAt(one)) === 200) {}
    calls += 1;
    return (await statusAt(other)) === 429 || undefined;
  }, "the refusal at the other");
  expect(calls).toBeLessThan(limit);
});
