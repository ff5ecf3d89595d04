// Logins that take several requests, because the system asks for more than a password.
import { randomBytes } from "node:crypto";
import { addressKey } from "../../lib/net/address.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  LOGIN_QUESTION_LIFETIME_MS,
  MAX_PENDING_LOGINS,
  MAX_PENDING_LOGINS_PER_ADDRESS,
} from "../../protocol/limits.ts";
import type { LoginPrompts, LoginQuestion } from "../../protocol/schemas/login-question.ts";

/** Resolves with the person's answers; ServiceError `unauthorized` if none come in time. */
export type Ask = (question: LoginPrompts) => Promise<readonly string[]>;

type Pending<Result> = {
  /** An addressKey. */
  readonly address: string;
  readonly answer: (answers: readonly string[]) => Promise<Result>;
  readonly giveUp: () => void;
};

/**
 * Runs a login as one function over several requests: each request gets the login's result or its next question. At
 * most MAX_PENDING_LOGINS wait, for LOGIN_QUESTION_LIFETIME_MS each; over that the address with the most loses its
 * oldest one.
 */
export class LoginQuestions<Result> {
  readonly #pending = new Map<string, Pending<Result>>();
  readonly #lifetimeMs: number;

  constructor(lifetimeMs: number = LOGIN_QUESTION_LIFETIME_MS) {
    this.#lifetimeMs = lifetimeMs;
  }

  /** The login's result, or ServiceError `login_question` with a LoginQuestion as details. */
  begin(address: string | undefined, login: (ask: Ask) => Promise<Result>): Promise<Result> {
    let request = Promise.withResolvers<Result>();
    const key = addressKey(address);
    const ask: Ask = (question) => {
      const answers = Promise.withResolvers<readonly string[]>();
      const challengeId = this.#wait({
        address: key,
        answer: (given) => {
          request = Promise.withResolvers<Result>();
          answers.resolve(given);
          return request.promise;
        },
        giveUp: () => answers.reject(new ServiceError("unauthorized", "the login was not answered in time")),
      });
      request.reject(questionError({ ...question, challengeId, expiresIn: this.#lifetimeMs / 1000 }));
      return answers.promise;
    };
    login(ask).then(
      (result) => request.resolve(result),
      // Nobody listens to a login that was not answered.
      (error: unknown) => request.reject(error),
    );
    return request.promise;
  }

  /** Continues after a question, once. ServiceError `unauthorized` if it is unknown, answered or expired. */
  take(challengeId: string): (answers: readonly string[]) => Promise<Result> {
    const pending = this.#pending.get(challengeId);
    if (pending === undefined)
      throw new ServiceError("unauthorized", "this login was answered or is too old: log in again");
    this.#pending.delete(challengeId);
    return pending.answer;
  }

  #wait(pending: Pending<Result>): string {
    const byAddress = Map.groupBy(this.#pending, ([, { address }]) => address);
    const own = byAddress.get(pending.address) ?? [];
    const [most = []] = [...byAddress.values()].toSorted((a, b) => b.length - a.length);
    if (own.length >= MAX_PENDING_LOGINS_PER_ADDRESS) this.#giveUp(own[0]?.[0]);
    else if (this.#pending.size >= MAX_PENDING_LOGINS) this.#giveUp(most[0]?.[0]);
    const challengeId = randomBytes(32).toString("base64url");
    this.#pending.set(challengeId, pending);
    setTimeout(() => this.#giveUp(challengeId), this.#lifetimeMs).unref();
    return challengeId;
  }

  #giveUp(challengeId = ""): void {
    const pending = this.#pending.get(challengeId);
    this.#pending.delete(challengeId);
    pending?.giveUp();
  }
}

/** The message is for clients that cannot answer questions. */
function questionError(details: LoginQuestion): ServiceError {
  const asked = details.prompts.map(({ message }) => message.replace(/:\s*$/, "").trim()).join(", ");
  const message = `this system asks for more than a password (${asked}): log in on the page or with \`ttyhq login\``;
  return new ServiceError("login_question", message, { details });
}
