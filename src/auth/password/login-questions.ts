// Logins that take several requests, because the system asks for more than a password.
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { isTimeout } from "../../lib/async/deadline.ts";
import type { GroupCalls } from "../../lib/data/live-records.ts";
import { addressKey } from "../../lib/net/address.ts";
import { errorBody, errorFromBody, ServiceError } from "../../protocol/errors.ts";
import {
  LOGIN_ANSWER_TIMEOUT_MS,
  LOGIN_QUESTION_LIFETIME_MS,
  MAX_PENDING_LOGINS,
  MAX_PENDING_LOGINS_PER_ADDRESS,
} from "../../protocol/limits.ts";
import {
  LoginAnswers,
  type LoginPrompts,
  type LoginQuestion,
} from "../../protocol/schemas/login-question.ts";

/** Resolves with the person's answers; ServiceError `unauthorized` if none come in time. */
export type Ask = (question: LoginPrompts) => Promise<readonly string[]>;

type Pending<Result> = {
  /** An addressKey. */
  readonly address: string;
  readonly answer: (answers: readonly string[]) => Promise<Result>;
  readonly giveUp: () => void;
};

type LoginQuestionsOptions<Result> = {
  readonly result: z.ZodType<Result>;
  /** To the other HQs; `undefined`: there are none. */
  readonly calls?: GroupCalls | undefined;
  /** Default LOGIN_QUESTION_LIFETIME_MS; for tests. */
  readonly lifetimeMs?: number;
};

/** The result of answers that another HQ passed on. */
const Outcome = z.object({
  isTaken: z.boolean(),
  value: z.unknown().optional(),
  error: z.unknown().optional(),
});
type Outcome = z.infer<typeof Outcome>;

/**
 * Runs a login as one function over several requests: each request gets the login's result or its next question. At
 * most MAX_PENDING_LOGINS wait, for LOGIN_QUESTION_LIFETIME_MS each; over that the address with the most loses its
 * oldest one. A question belongs to the HQ that has PAM's process; another HQ of its group passes answers on to it.
 */
export class LoginQuestions<Result> {
  readonly #pending = new Map<string, Pending<Result>>();
  readonly #options: LoginQuestionsOptions<Result>;
  readonly #lifetimeMs: number;

  constructor(options: LoginQuestionsOptions<Result>) {
    this.#options = options;
    this.#lifetimeMs = options.lifetimeMs ?? LOGIN_QUESTION_LIFETIME_MS;
    options.calls?.serve((request) => this.#answerCall(request));
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

  /** Whether the question waits at this HQ. */
  isWaiting({ challengeId }: Pick<LoginAnswers, "challengeId">): boolean {
    return this.#pending.has(challengeId);
  }

  /**
   * Continues after a question, once; the returned function gives the result. ServiceError `unauthorized` if the question is
   * unknown, answered or expired, or if the HQ that asked it is gone; `registry_unavailable` if that HQ cannot be reached.
   */
  async take({ challengeId, answers }: LoginAnswers): Promise<() => Promise<Result>> {
    const { calls, result } = this.#options;
    const [holder = ""] = challengeId.split(".", 1);
    const isOther = calls !== undefined && ![challengeId, calls.ownId, ""].includes(holder);
    if (!isOther) {
      const pending = this.#remove(challengeId);
      if (pending === undefined) throw unknown();
      return () => pending.answer(answers);
    }
    const request = JSON.stringify({ challengeId, answers } satisfies LoginAnswers);
    const answer = await calls.call(holder, request, LOGIN_ANSWER_TIMEOUT_MS).catch((error: unknown) => {
      throw isTimeout(error) ? unknown() : error;
    });
    const outcome = Outcome.parse(JSON.parse(answer));
    if (!outcome.isTaken) throw unknown();
    return async () => {
      if (outcome.error !== undefined) throw errorFromBody(outcome.error, "internal_error", "internal error");
      return result.parse(outcome.value);
    };
  }

  /** Of another HQ. */
  async #answerCall(request: string): Promise<string> {
    const { challengeId, answers } = LoginAnswers.parse(JSON.parse(request));
    const pending = this.#remove(challengeId);
    const outcome: Outcome =
      pending === undefined
        ? { isTaken: false }
        : await pending.answer(answers).then(
            (value) => ({ isTaken: true, value }),
            (error: unknown) => ({ isTaken: true, error: errorBody(error) }),
          );
    return JSON.stringify(outcome);
  }

  #wait(pending: Pending<Result>): string {
    const byAddress = Map.groupBy(this.#pending, ([, { address }]) => address);
    const own = byAddress.get(pending.address) ?? [];
    const [most = []] = [...byAddress.values()].toSorted((a, b) => b.length - a.length);
    if (own.length >= MAX_PENDING_LOGINS_PER_ADDRESS) this.#remove(own[0]?.[0])?.giveUp();
    else if (this.#pending.size >= MAX_PENDING_LOGINS) this.#remove(most[0]?.[0])?.giveUp();
    const { calls } = this.#options;
    const secret = randomBytes(32).toString("base64url");
    const challengeId = calls === undefined ? secret : `${calls.ownId}.${secret}`;
    this.#pending.set(challengeId, pending);
    setTimeout(() => this.#remove(challengeId)?.giveUp(), this.#lifetimeMs).unref();
    return challengeId;
  }

  #remove(challengeId = ""): Pending<Result> | undefined {
    const pending = this.#pending.get(challengeId);
    this.#pending.delete(challengeId);
    return pending;
  }
}

function unknown(): ServiceError {
  return new ServiceError("unauthorized", "this login was answered or is too old: log in again");
}

/** The message is for clients that cannot answer questions. */
function questionError(details: LoginQuestion): ServiceError {
  const asked = details.prompts.map(({ message }) => message.replace(/:\s*$/, "").trim()).join(", ");
  const message = `this system asks for more than a password (${asked}): log in on the page or with \`ttyhq login\``;
  return new ServiceError("login_question", message, { details });
}
