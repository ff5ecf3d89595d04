import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import {
  askHealth,
  isAlive,
  type RemoteHealth,
  refuseLoop,
  withReports,
} from "../../../../src/hq/health/remote-health.ts";
import { HEALTH_CHECK_LATENESS_MS, HEALTH_CHECK_TIMEOUT_MS } from "../../../../src/protocol/limits.ts";
import { registration } from "../memory-store.ts";

const SELF = "this-hq";

function refusal(answer: () => Promise<RemoteHealth>): Promise<unknown> {
  return refuseLoop(answer, SELF, registration("a")).then(
    () => "let pass",
    (error: unknown) => error,
  );
}

describe("a url", () => {
  test.each<[string, RemoteHealth, string]>([
    ["of the HQ itself", { instanceId: SELF, mode: "hq" }, "leads to this HQ itself"],
    ["of the HQ itself, whatever it says of its mode", { instanceId: SELF }, "leads to this HQ itself"],
    ["of another HQ", { instanceId: "other", mode: "hq" }, "leads to an HQ"],
  ])("%s is refused", async (_, health, message) => {
    expect(await refusal(async () => health)).toMatchObject({
      code: "invalid_request",
      details: { issues: [{ path: "url", message }] },
    });
  });

  test.each<[string, RemoteHealth]>([
    ["of a remote", { instanceId: "other", mode: "remote" }],
    ["of a server that stands alone", { instanceId: "other", mode: "standalone" }],
    ["of an older program, which says nothing of itself", {}],
  ])("%s is let pass", async (_, health) => {
    expect(await refusal(async () => health)).toBe("let pass");
  });

  test("without an answer is accepted", async () => {
    const refused = async (): Promise<RemoteHealth> => {
      throw new Error("refused");
    };
    expect(await refusal(refused)).toBe("let pass");
  });

  test("that takes the request and never answers is accepted after a second", async () => {
    const started = performance.now();
    expect(await refusal(() => new Promise<never>(() => {}))).toBe("let pass");
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

const noAnswer = async (): Promise<RemoteHealth> => {
  throw new Error("no answer");
};

test("the reason why a remote did not answer is known until it answers", async () => {
  const answers = [noAnswer, noAnswer, async (): Promise<RemoteHealth> => ({})];
  const { ask, failureOf } = withReports(async () => await (answers.shift() ?? noAnswer)());
  const remote = registration("a");
  expect(failureOf(remote.id)).toBeUndefined();
  expect(await isAlive(ask, remote)).toBe(false);
  expect(failureOf(remote.id)).toBe("no answer");
  expect(await isAlive(ask, remote)).toBe(false);
  expect(failureOf(remote.id)).toBe("no answer");
  expect(await isAlive(ask, remote)).toBe(true);
  expect(failureOf(remote.id)).toBeUndefined();
});

describe("a remote is alive", () => {
  const remote = registration("a");

  test("when it answers with its own id or without an id", async () => {
    expect(await isAlive(async () => ({ remoteId: "id-of-a" }), remote)).toBe(true);
    expect(await isAlive(async () => ({}), remote)).toBe(true);
  });

  test.each([
    [1_000, true],
    [1_000_000, false],
  ])("when its answer of %s bytes is as short as any health: %s", async (length, isUp) => {
    await using server = createServer(
      (_, response) => void response.end(`{"a":"${"a".repeat(length - 8)}"}`),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${Object(server.address()).port}`;
    const ask = askHealth({ ca: undefined, connect: () => Promise.reject(new Error("no tunnel")) });
    expect(await isAlive(ask, { ...remote, url })).toBe(isUp);
  });

  test("not when another remote answers, or none", async () => {
    expect(await isAlive(async () => ({ remoteId: "other" }), remote)).toBe(false);
    expect(await isAlive(noAnswer, remote)).toBe(false);
  });
});

describe("an answer that this process missed because it stood still", () => {
  const LATE_MS = HEALTH_CHECK_TIMEOUT_MS + HEALTH_CHECK_LATENESS_MS + 1;

  /** One check; of each question how long it took here, and whether it was answered in the end. */
  async function checkWith(questions: readonly { readonly tookMs: number; readonly isAnswered: boolean }[]) {
    const clock = { ms: 0 };
    let asked = 0;
    const ask = async (): Promise<RemoteHealth> => {
      const question = questions[asked];
      asked += 1;
      clock.ms += question?.tookMs ?? 0;
      return question?.isAnswered === true ? {} : await noAnswer();
    };
    const isUp = await isAlive(ask, registration("a"), HEALTH_CHECK_TIMEOUT_MS, () => clock.ms);
    return { asked, isUp };
  }

  test("does not count, and the remote is asked once more", async () => {
    const outcome = await checkWith([
      { tookMs: LATE_MS, isAnswered: false },
      { tookMs: 10, isAnswered: true },
    ]);
    expect(outcome).toEqual({ asked: 2, isUp: true });
  });

  test("counts as missing if the second request has no answer either", async () => {
    const late = { tookMs: LATE_MS, isAnswered: false };
    const down = { asked: 2, isUp: false };
    expect(await checkWith([late, { tookMs: 10, isAnswered: false }])).toEqual(down);
    expect(await checkWith([late, late, { tookMs: 10, isAnswered: true }])).toEqual(down);
  });

  test("is distinguished from a late remote, which is asked once", async () => {
    const outcome = await checkWith([
      { tookMs: LATE_MS - 1, isAnswered: false },
      { tookMs: 10, isAnswered: true },
    ]);
    expect(outcome).toEqual({ asked: 1, isUp: false });
  });

  test("counts if it arrives anyway", async () => {
    expect(await checkWith([{ tookMs: LATE_MS, isAnswered: true }])).toEqual({ asked: 1, isUp: true });
  });
});
