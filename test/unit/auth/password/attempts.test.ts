import { expect, test } from "vitest";
import { type Claimant, LoginAttempts } from "../../../../src/auth/password/attempts.ts";
import { Emitter } from "../../../../src/lib/async/emitter.ts";
import type { FailedLogins } from "../../../../src/lib/data/live-records.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

const wrong = async (): Promise<never> => {
  throw new ServiceError("invalid_credentials", "wrong");
};
const right = async (): Promise<string> => "in";

function clockedAttempts(clock = { ms: 1_000_000 }, others?: FailedLogins) {
  const attempts = new LoginAttempts(() => clock.ms, others);
  /** Makes `count` tries with a wrong password; resolves with the error code of each. */
  const fail = async (
    count: number,
    claimant: Claimant | ((index: number) => Claimant),
  ): Promise<readonly string[]> => {
    const codes: string[] = [];
    for (let index = 0; index < count; index++) {
      const who = typeof claimant === "function" ? claimant(index) : claimant;
      const error = await attempts.guard(who, wrong).catch((thrown: unknown) => thrown);
      codes.push(error instanceof ServiceError ? error.code : String(error));
    }
    return codes;
  };
  return { clock, attempts, fail };
}

const limited = { code: "rate_limited" };
const TEN_WRONG = Array<string>(10).fill("invalid_credentials");

test("an address's eleventh failed login within a minute is not tried, whatever user it names", async () => {
  const { fail, attempts } = clockedAttempts();
  const codes = await fail(10, (index) => ({ address: "10.0.0.1", user: `user${index}` }));
  expect(codes).toEqual(TEN_WRONG);
  let isTried = false;
  const login = async (): Promise<void> => {
    isTried = true;
  };
  await expect(attempts.guard({ address: "10.0.0.1", user: "ada" }, login)).rejects.toMatchObject(limited);
  expect(isTried).toBe(false);
});

test("a user's eleventh failed login within a minute is not tried, whatever its address", async () => {
  const { fail, attempts } = clockedAttempts();
  expect(await fail(10, (index) => ({ address: `10.0.0.${index}`, user: "ada" }))).toEqual(TEN_WRONG);
  await expect(attempts.guard({ address: "10.1.1.1", user: "ada" }, right)).rejects.toMatchObject(limited);
  expect(await attempts.guard({ address: "10.1.1.1", user: "bob" }, right)).toBe("in");
});

test("a known and an unknown user are limited alike", async () => {
  const { fail } = clockedAttempts();
  const known = await fail(12, (index) => ({ address: `10.0.0.${index}`, user: "ada" }));
  const unknown = await fail(12, (index) => ({ address: `10.0.1.${index}`, user: "no such user" }));
  expect(known).toEqual(unknown);
});

test("the error says in how many seconds the next try is allowed, and then it is", async () => {
  const { clock, fail, attempts } = clockedAttempts();
  const claimant = { address: "10.0.0.1", user: "ada" };
  await fail(1, claimant);
  clock.ms += 20_500;
  await fail(9, claimant);
  await expect(attempts.guard(claimant, right)).rejects.toMatchObject({
    message: "too many failed logins: try again in 40 s",
    details: { retryAfterSeconds: 40 },
  });
  clock.ms += 39_000;
  await expect(attempts.guard(claimant, right)).rejects.toMatchObject({ details: { retryAfterSeconds: 1 } });
  clock.ms += 1_000;
  expect(await attempts.guard(claimant, right)).toBe("in");
});

test("any 60 seconds have at most ten failures, also across a minute boundary", async () => {
  const { clock, fail } = clockedAttempts();
  const claimant = { address: "10.0.0.1", user: "ada" };
  const times: number[] = [];
  for (let second = 0; second < 300; second++) {
    const [code] = await fail(1, claimant);
    if (code === "invalid_credentials") times.push(clock.ms);
    clock.ms += 1000;
  }
  for (const [index, time] of times.entries()) {
    const tenth = times[index - 10];
    if (tenth !== undefined) expect(time - tenth).toBeGreaterThanOrEqual(60_000);
  }
  // Ten tries, and one after each of the growing waits.
  expect(times.length).toBeLessThan(25);
});

test("a success neither counts nor resets earlier failures", async () => {
  const { fail, attempts } = clockedAttempts();
  const claimant = { address: "10.0.0.1", user: "ada" };
  await fail(9, claimant);
  for (let count = 0; count < 20; count++) await attempts.guard(claimant, right);
  await fail(1, claimant);
  await expect(attempts.guard(claimant, right)).rejects.toMatchObject(limited);
});

test("a success does not reset failures that were counted while it took longer than the window", async () => {
  const { clock, fail, attempts } = clockedAttempts();
  const slow = attempts.begin({ address: "10.1.1.1", user: "ada" });
  clock.ms += 61_000;
  await fail(10, (index) => ({ address: `10.0.0.${index}`, user: "ada" }));
  slow.succeed();
  await expect(attempts.guard({ address: "10.1.1.2", user: "ada" }, right)).rejects.toMatchObject(limited);
});

test("parallel tries do not circumvent the limit", async () => {
  const { attempts } = clockedAttempts();
  const gate = Promise.withResolvers<void>();
  let tried = 0;
  const slow = async (): Promise<never> => {
    tried += 1;
    await gate.promise;
    return await wrong();
  };
  const all = Array.from({ length: 50 }, () => attempts.guard({ address: "10.0.0.1", user: "ada" }, slow));
  gate.resolve();
  await Promise.allSettled(all);
  expect(tried).toBe(10);
});

test("a login that fails for another reason than a wrong proof does not count", async () => {
  const { attempts } = clockedAttempts();
  const broken = async (): Promise<never> => {
    throw new ServiceError("internal_error", "disk full");
  };
  const claimant = { address: "10.0.0.1", user: "ada" };
  for (let count = 0; count < 20; count++) await attempts.guard(claimant, broken).catch(() => {});
  expect(await attempts.guard(claimant, right)).toBe("in");
});

test("a wrong ticket counts against its address", async () => {
  const { attempts } = clockedAttempts();
  const used = async (): Promise<never> => {
    throw new ServiceError("unauthorized", "used");
  };
  for (let count = 0; count < 10; count++) await attempts.guard({ address: "::1" }, used).catch(() => {});
  await expect(attempts.guard({ address: "::1" }, right)).rejects.toMatchObject(limited);
});

test("the addresses of an IPv6 /64 count as one", async () => {
  const { fail, attempts } = clockedAttempts();
  await fail(10, (index) => ({ address: `2001:db8:0:1::${index}`, user: `user${index}` }));
  await expect(attempts.guard({ address: "2001:db8:0:1::ffff", user: "x" }, right)).rejects.toMatchObject(
    limited,
  );
});

test("an address where a user logged in within a month is not locked out by failures elsewhere", async () => {
  const { clock, fail, attempts } = clockedAttempts();
  const month = 30 * 86_400_000;
  const ada = { address: "10.1.1.1", user: "ada" };
  await attempts.guard(ada, right);
  clock.ms += month - 1;
  await fail(10, (index) => ({ address: `10.0.0.${index}`, user: "ada" }));
  expect(await attempts.guard(ada, right)).toBe("in");
  await expect(attempts.guard({ address: "10.1.1.2", user: "ada" }, right)).rejects.toMatchObject(limited);
  clock.ms += month;
  await fail(10, (index) => ({ address: `10.0.0.${index}`, user: "ada" }));
  await expect(attempts.guard(ada, right)).rejects.toMatchObject(limited);
});

test("a proven address has no more tries than others, and is proven for one user only", async () => {
  const { fail, attempts } = clockedAttempts();
  const ada = { address: "10.1.1.1", user: "ada" };
  await attempts.guard(ada, right);
  await fail(10, (index) => ({ address: `10.0.0.${index}`, user: "bob" }));
  await expect(attempts.guard({ ...ada, user: "bob" }, right)).rejects.toMatchObject(limited);
  expect(await fail(12, ada)).toEqual([...TEN_WRONG, "rate_limited", "rate_limited"]);
});

test("a login that settles synchronously is counted like any other", () => {
  const { attempts } = clockedAttempts();
  const claimant = { address: "10.0.0.1", user: "ada" };
  for (let count = 0; count < 20; count++) attempts.begin(claimant).succeed();
  const wrong = new ServiceError("unauthorized", "wrong");
  for (let count = 0; count < 10; count++) attempts.begin(claimant).fail(wrong);
  expect(() => attempts.begin(claimant)).toThrow(expect.objectContaining(limited));
});

test("one address cannot lock a user out at other addresses", async () => {
  const { clock, fail, attempts } = clockedAttempts();
  for (let minute = 0; minute < 5; minute++) {
    await fail(20, { address: "10.0.0.1", user: "ada" });
    expect(await attempts.guard({ address: `10.1.1.${minute}`, user: "ada" }, right)).toBe("in");
    clock.ms += 60_000;
  }
});

test("failures at a shared address do not lock out users who have logged in there", async () => {
  const { fail, attempts } = clockedAttempts();
  const bob = { address: "10.0.0.1", user: "bob" };
  await attempts.guard(bob, right);
  expect(await fail(11, (index) => ({ address: "10.0.0.1", user: `user${index}` }))).toContain(
    "rate_limited",
  );
  expect(await attempts.guard(bob, right)).toBe("in");
});

test("an address that keeps failing waits longer each time, up to 16 minutes, until an hour without failures", async () => {
  const { clock, attempts } = clockedAttempts();
  const who = { address: "10.0.0.1" };
  /** Fails until it is refused; resolves with the wait in seconds. */
  const exhaust = async (): Promise<number> => {
    for (;;) {
      const error: unknown = await attempts.guard(who, wrong).catch((thrown: unknown) => thrown);
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === "rate_limited") return Number(error.details.retryAfterSeconds);
    }
  };
  const waits: number[] = [];
  for (let round = 0; round < 7; round++) {
    waits.push(await exhaust());
    clock.ms += (waits.at(-1) ?? 0) * 1000;
  }
  expect(waits).toEqual([60, 60, 180, 420, 900, 900, 900]);
  clock.ms += 3_600_000;
  expect(await exhaust()).toBe(60);
});

test("two addresses can lock a user out elsewhere for at most four minutes of an hour", async () => {
  const { clock, fail, attempts } = clockedAttempts();
  let minutesOut = 0;
  for (let minute = 0; minute < 60; minute++) {
    // Fewer than ten from one address: ten would cause a wait.
    for (const address of ["10.0.0.1", "10.0.0.2"]) await fail(5, { address, user: "ada" });
    const login = attempts.guard({ address: `10.1.1.${minute}`, user: "ada" }, right);
    minutesOut += await login.then(
      () => 0,
      () => 1,
    );
    clock.ms += 60_000;
  }
  expect(minutesOut).toBe(4);
});

test("failures at another HQ count here with their age; successes there do not", async () => {
  const told: string[] = [];
  const heard = new Emitter<{ readonly failure: string; readonly agoMs: number }>();
  const clock = { ms: 1_000_000 };
  const { fail: failThere, attempts: there } = clockedAttempts(clock, {
    tell: (failure) => told.push(failure),
    watch: () => ({ [Symbol.dispose]: () => undefined }),
  });
  const { fail, attempts: here } = clockedAttempts(clock, {
    tell: () => undefined,
    watch: (listener) => heard.on(({ failure, agoMs }) => listener(failure, agoMs)),
  });
  const [attacker, ada] = [
    { address: "10.0.0.1", user: "ada" },
    { address: "10.0.0.2", user: "ada" },
  ];
  await here.guard(ada, right);
  await there.guard(ada, right);
  await failThere(10, attacker);
  expect(told).toHaveLength(10);
  expect(told.join()).not.toContain("ada");
  clock.ms += 20_000;
  for (const failure of told) heard.emit({ failure, agoMs: 20_000 });
  await expect(here.guard(attacker, right)).rejects.toMatchObject({
    ...limited,
    details: { retryAfterSeconds: 40 },
  });
  expect(await here.guard(ada, right)).toBe("in");
  clock.ms += 40_000;
  expect(await fail(1, attacker)).toEqual(["invalid_credentials"]);
});
