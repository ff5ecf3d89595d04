// Second factors, stored in a file by one server and in Redis by two HQs: one suite for both.
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type FactorStore, openFactorFile, sharedFactors } from "../../../src/auth/passkey/factor-store.ts";
import { PendingFactor, SecondFactor } from "../../../src/auth/passkey/second-factor.ts";
import { memoryTickets } from "../../../src/auth/tokens/file-records.ts";
import { ENROLMENT_CODES, SECOND_FACTORS, Tickets } from "../../../src/auth/tokens/tickets.ts";
import type { TicketStore } from "../../../src/lib/data/live-records.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { SecondFactorChallenge } from "../../../src/protocol/schemas/passkey.ts";
import { Authenticator } from "../harness/authenticator.ts";
import { ask } from "../harness/http.ts";
import { PASSWORD, TOKEN_SECRET, USERNAME } from "../harness/password-server.ts";
import { Person } from "../harness/people.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { OUT_OF_REACH, Replica } from "../harness/replica.ts";
import { TestServer } from "../harness/test-server.ts";

const ORIGIN = "https://hq.test";

/** Two servers with the same users: one process twice for a file, two HQs for Redis. */
type Stage = { readonly one: SecondFactor; readonly other: SecondFactor };

async function taken(at: SecondFactor, challengeId: string): Promise<PendingFactor> {
  return PendingFactor.parse(await at.take(challengeId));
}

function secondFactor(store: FactorStore, tickets: TicketStore): SecondFactor {
  const pending = new Tickets(SECOND_FACTORS, PendingFactor, tickets);
  const enrolmentCodes = new Tickets(ENROLMENT_CODES, z.string(), tickets);
  return new SecondFactor({
    store,
    pending,
    enrolmentCodes: enrolmentCodes,
    isRequired: false,
    now: () => new Date(),
  });
}

let redis: RedisServer;
let owned: AsyncDisposableStack;
beforeAll(async () => {
  owned = new AsyncDisposableStack();
  redis = owned.use(await RedisServer.start());
});
afterAll(() => owned[Symbol.asyncDispose]());

async function onFile(): Promise<Stage> {
  const folder = owned.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-factors-")));
  const store = await openFactorFile(join(folder.path, "passkeys.json"));
  const tickets = memoryTickets(() => performance.now());
  return { one: secondFactor(store, tickets), other: secondFactor(store, tickets) };
}

async function onRedis(): Promise<Stage> {
  const hq = async (name: string): Promise<SecondFactor> => {
    const { records } = owned.use(await Replica.loaded(name, redis.url));
    return secondFactor(sharedFactors(records), records.tickets);
  };
  return { one: await hq("one"), other: await hq("other") };
}

async function withPasskey(
  { one }: Stage,
  user: string,
): Promise<{ readonly device: Authenticator; readonly codes: readonly string[] }> {
  const device = new Authenticator(ORIGIN);
  const { challengeId, registration } = await one.offer(user, ORIGIN);
  const made = await one.add(user, { challengeId, name: "Phone", registration: device.create(registration) });
  return { device, codes: made.recoveryCodes ?? [] };
}

/** The challenge after a correct password. */
async function challenge(at: SecondFactor, user: string): Promise<SecondFactorChallenge> {
  const refusal = await at.demand(user, ORIGIN).catch((error: unknown) => error);
  if (!(refusal instanceof ServiceError))
    throw new Error("no second factor is asked for", { cause: refusal });
  expect(refusal.code).toBe("second_factor_required");
  return SecondFactorChallenge.parse(refusal.details);
}

/** The number of successes, and the errors of the others. */
async function outcomes(tries: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const settled = await Promise.allSettled(tries);
  return settled
    .map((each) => (each.status === "fulfilled" ? "in" : String(Object(each.reason).code)))
    .toSorted();
}

describe.each([
  { kind: "a file", open: onFile },
  { kind: "Redis", open: onRedis },
])("second factors in $kind", ({ kind, open }) => {
  const user = kind === "Redis" ? "grace" : "ada";
  let stage: Stage;
  beforeAll(async () => {
    stage = await open();
  });

  test("a passkey made at one is asked for at the other, whose challenge either takes", async () => {
    const { device } = await withPasskey(stage, user);
    const { challengeId, assertion } = await challenge(stage.other, user);
    const pending = await taken(stage.one, challengeId);
    await stage.one.prove(pending, { assertion: device.get(assertion) });
    expect((await stage.other.list(user)).passkeys).toMatchObject([{ name: "Phone", lastUsedAt: /T/ }]);
  });

  test("a recovery code that is used at both HQs at once works once", async () => {
    const { codes } = await withPasskey(stage, `${user}-codes`);
    for (const [used, code] of codes.entries()) {
      const tries = [stage.one, stage.other, stage.one, stage.other].map((at) =>
        at.useRecoveryCode(`${user}-codes`, code),
      );
      expect(await outcomes(tries)).toEqual(["in", ...Array(3).fill("invalid_credentials")]);
      expect((await stage.other.list(`${user}-codes`)).recoveryCodes).toBe(codes.length - used - 1);
    }
  });

  test("a signature counter that is used at both at once, as by a copy of the device, works once", async () => {
    const name = `${user}-counter`;
    const { device } = await withPasskey(stage, name);
    for (let round = 0; round < 5; round++) {
      const counter = device.counter;
      const tries = [stage.one, stage.other].map(async (at) => {
        const { challengeId, assertion } = await challenge(at, name);
        const pending = await taken(at, challengeId);
        return { at, pending, assertion };
      });
      const ready = await Promise.all(tries);
      const answers = ready.map(({ assertion }) => {
        device.counter = counter;
        return device.get(assertion);
      });
      const proofs = ready.map(({ at, pending }, nth) => at.prove(pending, { assertion: answers[nth] }));
      expect(await outcomes(proofs)).toEqual(["in", "invalid_credentials"]);
    }
  });

  test("of two first passkeys that are made at once both are kept, with one list of codes", async () => {
    const name = `${user}-first`;
    const made = await Promise.all(
      [stage.one, stage.other].map(async (at) => {
        const { challengeId, registration } = await at.offer(name, ORIGIN);
        const device = new Authenticator(ORIGIN);
        return at.add(name, { challengeId, name: "Phone", registration: device.create(registration) });
      }),
    );
    expect(made.filter(({ recoveryCodes }) => recoveryCodes !== undefined)).toHaveLength(1);
    expect(await stage.one.list(name)).toMatchObject({ recoveryCodes: 10, passkeys: [{}, {}] });
  });
});

test("HQs that share a registry ask for the passkey regardless of where it was made, also when Redis has lost it or is unreachable", async () => {
  await using stack = new AsyncDisposableStack();
  const own = stack.use(await RedisServer.start());
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-factors-")));
  const url = join(folder.path, "registry-url");
  await writeFile(url, own.url);
  const hq = {
    args: ["--hq", "--registry-url-file", url, "--allowed-origin", ORIGIN, "--rate-limit-api", "0"],
    env: { TTYHQ_USERNAME: USERNAME, TTYHQ_PASSWORD: PASSWORD, TTYHQ_JWT_SECRET: TOKEN_SECRET },
  };
  const hqs = [stack.use(await TestServer.start(hq)), stack.use(await TestServer.start(hq))];
  const [first, second] = [hqs[0] ?? expect.unreachable(), hqs[1] ?? expect.unreachable()];
  const headers = { origin: ORIGIN };
  const withPassword = (at: TestServer, more: object = {}) =>
    ask(at.url, "/api/auth/token", { headers, body: { password: PASSWORD, ...more } });
  const codeOf = async (at: TestServer, more: object = {}) => (await withPassword(at, more)).json.code;

  const { token } = (await withPassword(first)).json;
  const person = new Person(first, token);
  const device = new Authenticator(ORIGIN);
  const options = await person.ask("/api/auth/passkeys/options", { method: "POST", headers });
  const body = {
    ...{ challengeId: options.json.challengeId, name: "Phone" },
    registration: device.create(options.json.registration),
  };
  const made = await person.ask("/api/auth/passkeys", { method: "POST", headers, body });
  const [one = "", other = ""] = made.json.recoveryCodes;
  const asked = await withPassword(second);
  expect(asked.json.code).toBe("second_factor_required");
  const { challengeId, assertion } = asked.json.details;
  const proof = { challengeId, assertion: device.get(assertion) };
  expect((await ask(first.url, "/api/auth/second-factor", { headers, body: proof })).status).toBe(200);
  expect((await withPassword(second, { recoveryCode: one })).status).toBe(200);
  expect(await codeOf(first, { recoveryCode: one })).toBe("invalid_credentials");
  const kept = await own.ask((asking) => asking.hgetall("ttyhq:records"));
  for (const secret of [one, body.registration.id]) expect(JSON.stringify(kept)).not.toContain(secret);

  await own.ask((asking) => asking.flushall());
  expect(await codeOf(second)).toBe("second_factor_required");
  await own.stop({ isDataKept: false });
  await expect.poll(() => second.log.includes(OUT_OF_REACH)).toBe(true);
  // The order of two simultaneous uses is unknown.
  expect(await codeOf(second, { recoveryCode: other })).toBe("registry_unavailable");
  expect(await codeOf(second)).toBe("registry_unavailable");
});
