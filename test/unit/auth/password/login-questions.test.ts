import { expect, test } from "vitest";
import { type Ask, LoginQuestions } from "../../../../src/auth/password/login-questions.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { MAX_PENDING_LOGINS, MAX_PENDING_LOGINS_PER_ADDRESS } from "../../../../src/protocol/limits.ts";
import { LoginQuestion } from "../../../../src/protocol/schemas/login-question.ts";

const CODE = { prompts: [{ message: "Code: ", echo: false }], messages: [] };
const over = { code: "unauthorized" };

/** A login that asks for that many codes and returns them. */
const asking =
  (times: number) =>
  async (ask: Ask): Promise<string> => {
    const codes: string[] = [];
    for (let count = 0; count < times; count++) codes.push(...(await ask(CODE)));
    return codes.join();
  };

async function challengeOf(request: Promise<unknown>): Promise<string> {
  const error = await request.catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "login_question", status: 401 });
  const details = error instanceof ServiceError ? error.details : {};
  return LoginQuestion.pick({ challengeId: true }).parse(details).challengeId;
}

test("each request gets the next question, and the last one what came of the login", async () => {
  const questions = new LoginQuestions<string>();
  const first = await challengeOf(questions.begin("192.0.2.1", asking(2)));
  const second = await challengeOf(questions.take(first)(["1"]));
  expect(await questions.take(second)(["2"])).toBe("1,2");
});

test("a login that asks for nothing has one request", async () => {
  const questions = new LoginQuestions<string>();
  expect(await questions.begin(undefined, asking(0))).toBe("");
  const refused = questions.begin(undefined, async () => {
    throw new ServiceError("invalid_credentials", "wrong");
  });
  await expect(refused).rejects.toMatchObject({ code: "invalid_credentials" });
});

test("a client that cannot answer is told what is asked, and what can", async () => {
  const request = new LoginQuestions<string>().begin(undefined, asking(1));
  await expect(request).rejects.toThrow(
    /more than a password \(Code\): log in on the page or with `ttyhq login`/,
  );
  await expect(request).rejects.toMatchObject({ details: { ...CODE, expiresIn: 60 } });
});

test("a question is answered once, and nobody answers one that there is not", async () => {
  const questions = new LoginQuestions<string>();
  const challenge = await challengeOf(questions.begin(undefined, asking(1)));
  questions.take(challenge);
  for (const id of [challenge, "", "guess"])
    expect(() => questions.take(id)).toThrow(expect.objectContaining(over));
});

test("a login that nobody answers in time is over", async () => {
  const questions = new LoginQuestions<string>(1);
  const ended = Promise.withResolvers<unknown>();
  const challenge = await challengeOf(
    questions.begin(undefined, async (ask) => {
      await ask(CODE).catch(ended.resolve);
      return "";
    }),
  );
  expect(await ended.promise).toMatchObject(over);
  expect(() => questions.take(challenge)).toThrow(expect.objectContaining(over));
});

test("whoever begins many logins ends their own", async () => {
  const questions = new LoginQuestions<string>();
  const begin = (address: string): Promise<string> => challengeOf(questions.begin(address, asking(1)));
  const mine = await begin("192.0.2.1");
  const theirs: string[] = [];
  for (let count = 0; count <= MAX_PENDING_LOGINS_PER_ADDRESS; count++) theirs.push(await begin("192.0.2.2"));
  expect(() => questions.take(theirs[0] ?? "")).toThrow(expect.objectContaining(over));
  for (let count = 0; count < 2 * MAX_PENDING_LOGINS; count++) await begin(`198.51.100.${count % 8}`);
  expect(await questions.take(mine)(["1"])).toBe("1");
});
