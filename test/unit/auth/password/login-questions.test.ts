import { expect, test } from "vitest";
import { z } from "zod";
import { type Ask, LoginQuestions } from "../../../../src/auth/password/login-questions.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { MAX_PENDING_LOGINS, MAX_PENDING_LOGINS_PER_ADDRESS } from "../../../../src/protocol/limits.ts";
import { LoginQuestion } from "../../../../src/protocol/schemas/login-question.ts";

const CODE = { prompts: [{ message: "Code: ", echo: false }], messages: [] };
const over = { code: "unauthorized" };

/** A login that asks for `times` codes and returns them. */
const asking =
  (times: number) =>
  async (ask: Ask): Promise<string> => {
    const codes: string[] = [];
    for (let count = 0; count < times; count++) codes.push(...(await ask(CODE)));
    return codes.join();
  };

function questionsOf(options: { readonly lifetimeMs?: number } = {}): LoginQuestions<string> {
  return new LoginQuestions({ result: z.string(), ...options });
}

async function answered(
  questions: LoginQuestions<string>,
  challengeId: string,
  answer: string,
): Promise<string | undefined> {
  return await questions.answer({ challengeId, answers: [answer] });
}

async function challengeOf(request: Promise<unknown>): Promise<string> {
  const error = await request.catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "login_question", status: 401 });
  const details = error instanceof ServiceError ? error.details : {};
  return LoginQuestion.pick({ challengeId: true }).parse(details).challengeId;
}

test("each request gets the next question, and the last one the result", async () => {
  const questions = questionsOf();
  const first = await challengeOf(questions.begin("192.0.2.1", asking(2)));
  const second = await challengeOf(answered(questions, first, "1"));
  expect(await answered(questions, second, "2")).toBe("1,2");
});

test("a login without questions needs one request", async () => {
  const questions = questionsOf();
  expect(await questions.begin(undefined, asking(0))).toBe("");
  const refused = questions.begin(undefined, async () => {
    throw new ServiceError("invalid_credentials", "wrong");
  });
  await expect(refused).rejects.toMatchObject({ code: "invalid_credentials" });
});

test("the error names the questions and the clients that can answer them", async () => {
  const request = questionsOf().begin(undefined, asking(1));
  await expect(request).rejects.toThrow(
    /more than a password \(Code\): log in on the page or with `ttyhq login`/,
  );
  await expect(request).rejects.toMatchObject({ details: { ...CODE, expiresIn: 60 } });
});

test("a question is answered once; unknown questions are refused", async () => {
  const questions = questionsOf();
  const challenge = await challengeOf(questions.begin(undefined, asking(1)));
  expect(await answered(questions, challenge, "1")).toBe("1");
  for (const guess of [challenge, "", "guess"]) expect(await answered(questions, guess, "1")).toBeUndefined();
});

test("a login ends if its question is not answered in time", async () => {
  const questions = questionsOf({ lifetimeMs: 1 });
  const ended = Promise.withResolvers<unknown>();
  const challenge = await challengeOf(
    questions.begin(undefined, async (ask) => {
      await ask(CODE).catch(ended.resolve);
      return "";
    }),
  );
  expect(await ended.promise).toMatchObject(over);
  expect(await answered(questions, challenge, "1")).toBeUndefined();
});

test("an address over its limit of pending logins loses its own oldest one", async () => {
  const questions = questionsOf();
  const begin = (address: string): Promise<string> => challengeOf(questions.begin(address, asking(1)));
  const mine = await begin("192.0.2.1");
  const theirs: string[] = [];
  for (let count = 0; count <= MAX_PENDING_LOGINS_PER_ADDRESS; count++) theirs.push(await begin("192.0.2.2"));
  expect(await answered(questions, theirs[0] ?? "", "1")).toBeUndefined();
  for (let count = 0; count < 2 * MAX_PENDING_LOGINS; count++) await begin(`198.51.100.${count % 8}`);
  expect(await answered(questions, mine, "1")).toBe("1");
});
