import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { TokenResponse } from "../../protocol/schemas/auth.ts";
import { LoginQuestion } from "../../protocol/schemas/login-question.ts";
import { SecondFactorChallenge } from "../../protocol/schemas/passkey.ts";
import { query } from "../query.ts";
import { QuestionReader } from "../terminal/question-reader.ts";
import { printable } from "../text.ts";

export const addLogin = query({
  usage: "login [url]",
  summary: "log in with a password and print a token",
  description:
    "Ask for a password, and for whatever else the server's system requires, such as a one-time code. Print a token, for TTYHQ_TOKEN. Without a terminal the answers are read from standard input, one per line.",
  json: 'print {"token", "expiresIn", "user"}',
  examples: [
    ["export TTYHQ_TOKEN=$(ttyhq login https://term.example.com --user ada)", "later commands run as ada"],
  ],
  who: "server",
  flags: { user: ["--user <name>", "user to log in; default: the server's default user"] },
  extend: (added) =>
    added.hook("preAction", () => {
      const [url] = added.args;
      if (url !== undefined) added.setOptionValue("url", url);
    }),
  ask: async ({ client }, { user: username }, _, cli) => {
    using reader = new QuestionReader(cli);
    const password = await reader.ask("Password: ", { echo: false });
    return await goOn(client, client.call(endpoints.createToken, { body: { username, password } }), reader);
  },
  text: ({ token }) => `${token}\n`,
});

async function goOn(
  client: Client,
  response: Promise<TokenResponse>,
  reader: QuestionReader,
): Promise<TokenResponse> {
  try {
    return await response;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === "login_question") {
      const { challengeId, prompts, messages } = LoginQuestion.parse(error.details);
      for (const message of messages) reader.say(printable(message));
      const answers: string[] = [];
      for (const { message, echo } of prompts) answers.push(await reader.ask(printable(message), { echo }));
      const next = client.call(endpoints.answerLogin, { body: { challengeId, answers } });
      return await goOn(client, next, reader);
    }
    if (error.code !== "second_factor_required") throw error;
    const { challengeId, recoveryCodes } = SecondFactorChallenge.parse(error.details);
    // A terminal has no passkeys.
    if (recoveryCodes === 0) throw error;
    const recoveryCode = await reader.ask("Recovery code: ", { echo: false });
    return await client.call(endpoints.secondFactor, { body: { challengeId, recoveryCode } });
  }
}
