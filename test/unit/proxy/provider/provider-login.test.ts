import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { memoryRecords } from "../../../../src/lib/data/live-records.ts";
import { Seal } from "../../../../src/lib/seal.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { MAX_PROXY_LOGINS_OF_USER, PROXY_LOGIN_LIFETIME_MS } from "../../../../src/protocol/limits.ts";
import type { ProviderAnswer } from "../../../../src/proxy/provider/provider-answer.ts";
import { type KeptLogin, ProviderLogin } from "../../../../src/proxy/provider/provider-login.ts";
import { ProviderLogins } from "../../../../src/proxy/provider/provider-logins.ts";

const ANSWER: ProviderAnswer = {
  subject: "1",
  user: { login: "ada@example.com", name: "Ada", picture: undefined },
  idToken: "first",
  refreshToken: "refresh",
  validForMs: 3_600_000,
};
const refused = new ServiceError("login_refused", "no");
const silent = new ServiceError("provider_unreachable", "no answer");

/** A login with a stopped clock. Each renewal settles with the next of `answers`. */
function login(
  more: { answer?: Partial<ProviderAnswer>; answers?: readonly (Error | string)[]; lifetimeMs?: number } = {},
) {
  const clock = { ms: 0 };
  const answers = [...(more.answers ?? [])];
  const asked: string[] = [];
  const renew = async ({ answer, renewals }: KeptLogin): Promise<KeptLogin> => {
    asked.push(answer.idToken ?? "");
    const next = answers.shift() ?? refused;
    if (next instanceof Error) throw next;
    return { answer: { ...answer, idToken: next }, renewals: renewals + 1, answeredAtMs: clock.ms };
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  const kept = { answer: { ...ANSWER, ...more.answer }, renewals: 0, answeredAtMs: 0 };
  const endsAtMs = more.lifetimeMs ?? PROXY_LOGIN_LIFETIME_MS;
  const subject = new ProviderLogin(
    { kept, endsAtMs, renew, now: () => clock.ms, random: () => 0.5 },
    resolve,
  );
  return { clock, asked, login: subject, ended: promise };
}

test("the provider is not asked while its last answer is fresh", async () => {
  const { clock, asked, login: it } = login();
  clock.ms = 299_000;
  await it.use();
  expect(asked).toEqual([]);
  it[Symbol.dispose]();
});

test("a use renews an answer after five minutes, and waits for it once the last answer has expired", async () => {
  const { clock, asked, login: it } = login({ answers: ["second", "third"] });
  clock.ms = 300_000;
  await it.use();
  expect(asked).toEqual(["first"]);
  await turn();
  clock.ms = 5_000_000;
  await Promise.all([it.use(), it.use()]);
  expect(asked).toEqual(["first", "second"]);
  expect(it.idToken).toBe("third");
  it[Symbol.dispose]();
});

test("a refused renewal ends the login for requests and open connections", async () => {
  const { clock, login: it, ended } = login({ answers: [refused] });
  const closed = Promise.withResolvers<void>();
  using _open = it.whenOver(closed.resolve);
  clock.ms = 5_000_000;
  await expect(it.use()).rejects.toMatchObject({ code: "unauthorized" });
  await Promise.all([closed.promise, ended]);
  expect(it.isOver).toBe(true);
  await expect(it.use()).rejects.toMatchObject({ code: "unauthorized" });
});

test("an unknown error ends the login like a refusal", async () => {
  const { clock, login: it } = login({ answers: [new Error("surprise")] });
  clock.ms = 5_000_000;
  await expect(it.use()).rejects.toMatchObject({ code: "unauthorized" });
});

test("while the provider is unreachable a login lasts until its last answer expires", async () => {
  const { clock, asked, login: it } = login({ answers: [silent, silent] });
  clock.ms = 400_000;
  await it.use();
  await turn();
  expect([asked.length, it.isOver]).toEqual([1, false]);
  clock.ms = 3_600_000;
  await expect(it.use()).rejects.toMatchObject({ code: "unauthorized" });
  expect(asked.length).toBe(2);
});

test("a login with an open connection is renewed in time, and the connection closed on refusal", async () => {
  const { asked, login: it, ended } = login({ answer: { validForMs: 25 }, answers: ["second", refused] });
  const closed = Promise.withResolvers<void>();
  using _open = it.whenOver(closed.resolve);
  await Promise.all([closed.promise, ended]);
  expect(asked).toEqual(["first", "second"]);
});

test("an unused login is not renewed", async () => {
  const {
    asked,
    login: it,
    ended,
  } = login({ answer: { validForMs: 10 }, answers: ["second"], lifetimeMs: 100 });
  await ended;
  expect([asked, it.isOver]).toEqual([["first"], true]);
});

test("without a refresh token a login is never renewed and lasts its full lifetime", async () => {
  const { clock, asked, login: it, ended } = login({ answer: { refreshToken: undefined }, lifetimeMs: 50 });
  clock.ms = 40_000_000;
  await it.use();
  await ended;
  expect(asked).toEqual([]);
});

test("a connection of an ended login is closed at once, and a disposed watch is not called", () => {
  const { login: it } = login();
  let calls = 0;
  it.whenOver(() => calls++)[Symbol.dispose]();
  it[Symbol.dispose]();
  it[Symbol.dispose]();
  expect(calls).toBe(0);
  it.whenOver(() => calls++);
  expect(calls).toBe(1);
});

function logins(records = memoryRecords(Date.now)) {
  const seal = new Seal(Secret.fromText("a secret of at least 32 bytes, as it were"));
  const renew = async (last: ProviderAnswer): Promise<ProviderAnswer> => last;
  return new ProviderLogins({ records, seal, renew, now: Date.now, random: () => 0 });
}

const of = (user: string): ProviderAnswer => ({ ...ANSWER, user: { ...ANSWER.user, login: user } });

test("a login is found by its cookie until it ends", async () => {
  const records = memoryRecords(Date.now);
  using all = logins(records);
  const cookie = await all.begin(of("ada"));
  expect(cookie).toMatch(/^[A-Za-z0-9_-]{90,128}$/);
  expect((await all.find(cookie))?.user.login).toBe("ada");
  for (const wrong of [undefined, "", "x", cookie.slice(1), `${cookie}x`, "a".repeat(100_000)]) {
    expect(await all.find(wrong)).toBeUndefined();
  }
  await all.end(cookie);
  expect([await all.find(cookie), records.list("provider-login")]).toEqual([undefined, []]);
});

test("over a user's limit that user's oldest login ends, and no other", async () => {
  const records = memoryRecords(Date.now);
  using all = logins(records);
  const other = await all.begin(of("grace"));
  const first = await all.begin(of("ada"));
  for (let count = 1; count < MAX_PROXY_LOGINS_OF_USER; count++) await all.begin(of("ada"));
  expect(await all.find(first)).toBeDefined();
  const last = await all.begin(of("ada"));
  expect(await all.find(first)).toBeUndefined();
  expect(await all.find(last)).toBeDefined();
  expect(await all.find(other)).toBeDefined();
  expect(records.list("provider-login")).toHaveLength(MAX_PROXY_LOGINS_OF_USER + 1);
});

test("logins that begin at the same moment do not exceed a user's limit", async () => {
  const records = memoryRecords(Date.now);
  using all = logins(records);
  await Promise.all(Array.from({ length: 2 * MAX_PROXY_LOGINS_OF_USER }, () => all.begin(of("ada"))));
  expect(records.list("provider-login")).toHaveLength(MAX_PROXY_LOGINS_OF_USER);
});

test("disposal closes all connections", async () => {
  const all = logins();
  const login = await all.find(await all.begin(of("ada")));
  all[Symbol.dispose]();
  expect(login?.isOver).toBe(true);
});
