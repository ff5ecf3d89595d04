// Logins with PAM's questions, at HQs that share a Redis: each answer goes to another HQ than the one that asked.
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type Ask, LoginQuestions } from "../../../src/auth/password/login-questions.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { LoginQuestion } from "../../../src/protocol/schemas/login-question.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { Replica } from "../harness/replica.ts";

type Questions = LoginQuestions<string>;

const CODE = { prompts: [{ message: "Code: ", echo: false }], messages: [] };
const over = { code: "unauthorized" };

let owned: AsyncDisposableStack;
let redis: RedisServer;
let one: Questions;
let other: Questions;

beforeAll(async () => {
  owned = new AsyncDisposableStack();
  redis = owned.use(await RedisServer.start());
  one = questionsAt(owned.use(await Replica.loaded("one", redis.url)));
  other = questionsAt(owned.use(await Replica.loaded("other", redis.url)));
});
afterAll(() => owned[Symbol.asyncDispose]());

function questionsAt({ records }: Replica): Questions {
  return new LoginQuestions({ result: z.string(), group: records });
}

/** Asks for two codes, and accepts the right ones. */
async function login(ask: Ask): Promise<string> {
  const given = [...(await ask(CODE)), ...(await ask(CODE))];
  if (given.join() === "1,2") return "ada";
  throw new ServiceError("invalid_credentials", "wrong user name or password");
}

async function answer(at: Questions, challengeId: string, code: string): Promise<string> {
  const result = await at.answer({ challengeId, answers: [code] });
  if (result === undefined) throw new ServiceError("unauthorized", "this question does not wait");
  return result;
}

async function challengeOf(request: Promise<unknown>): Promise<string> {
  const error = await request.catch((failure: unknown) => failure);
  if (!(error instanceof ServiceError)) throw new Error("nothing is asked", { cause: error });
  expect(error.code).toBe("login_question");
  return LoginQuestion.parse(error.details).challengeId;
}

test("a login continues at any HQ that receives its answers, and so does its result", async () => {
  const first = await challengeOf(one.begin("192.0.2.1", login));
  const second = await challengeOf(answer(other, first, "1"));
  expect(await answer(other, second, "2")).toBe("ada");
  const third = await challengeOf(other.begin("192.0.2.1", login));
  const wrong = await challengeOf(answer(one, third, "x"));
  await expect(answer(one, wrong, "2")).rejects.toMatchObject({ code: "invalid_credentials" });
});

test("a question accepts one answer, at any HQ, and guesses are refused", async () => {
  const first = await challengeOf(one.begin("192.0.2.1", login));
  const tries = await Promise.allSettled([answer(one, first, "1"), answer(other, first, "1")]);
  const codes = tries.map((each) => each.status === "rejected" && String(Object(each.reason).code));
  expect(codes.toSorted()).toEqual(["login_question", "unauthorized"]);
  for (const guess of ["one.guess", "guess", "."])
    await expect(answer(other, guess, "1")).rejects.toMatchObject(over);
});

test("the answer to an HQ that has stopped is refused, and without the Redis it is to be tried again", async () => {
  const gone = await Replica.loaded("gone", redis.url);
  const lost = await challengeOf(questionsAt(gone).begin("192.0.2.1", login));
  await gone[Symbol.asyncDispose]();
  await expect(answer(other, lost, "1")).rejects.toMatchObject(over);
  const kept = await challengeOf(one.begin("192.0.2.1", login));
  await redis.stop({ isDataKept: true });
  await expect(answer(other, kept, "1")).rejects.toMatchObject({ code: "registry_unavailable" });
  expect(await challengeOf(answer(one, kept, "1"))).toContain("one.");
});
