// Logins that take several requests, because the system asks for more than a password.
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { isTimeout } from "../../lib/async/deadline.ts";
import type { SharedRecordStore } from "../../lib/data/live-records.ts";
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

/** HQs that pass answers on to each other. */
export type LoginGroup = Pick<SharedRecordStore, "calls" | "seal">;

type LoginQuestionsOptions<Result> = {
  readonly result: z.ZodType<Result>;
  /** `undefined`: there are no other HQs. */
  readonly group?: LoginGroup | undefined;
  /** Default LOGIN_QUESTION_LIFETIME_MS; for tests. */
  readonly lifetimeMs?: number;
};

/** The result of answers that another HQ passed on; neither: the question does not wait. */
const Outcome = z.object({ value: z.unknown().optional(), error: z.unknown().optional() });
type Outcome = z.infer<typeof Outcome>;

const SEALED_AS = "login question of";

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
    options.group?.calls.serve((request) => this.#answerCall(request));
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

  /**
   * Continues after a question, once: resolves with the login's result, or with `undefined` if the question is unknown,
   * answered or expired, or if the HQ that asked it is gone. ServiceError `registry_unavailable`: that HQ cannot be reached.
   */
  async answer({ challengeId, answers }: LoginAnswers): Promise<Result | undefined> {
    const pending = this.#remove(challengeId);
    if (pending !== undefined) return await pending.answer(answers);
    const { group, result } = this.#options;
    const [holder = "", sealed = ""] = challengeId.split(".");
    // Other HQs are not asked about what strangers make up.
    const isOfGroup = group?.seal.open(`${SEALED_AS} ${holder}`, sealed) !== undefined;
    if (group === undefined || !isOfGroup || holder === group.calls.ownId) return undefined;
    const request = JSON.stringify({ challengeId, answers } satisfies LoginAnswers);
    const answer = await group.calls.call(holder, request, LOGIN_ANSWER_TIMEOUT_MS).catch(unlessTimeout);
    const { value, error } = Outcome.parse(JSON.parse(answer ?? "{}"));
    if (error !== undefined) throw errorFromBody(error, "internal_error", "internal error");
    return value === undefined ? undefined : result.parse(value);
  }

  /** Of another HQ. */
  async #answerCall(request: string): Promise<string> {
    const { challengeId, answers } = LoginAnswers.parse(JSON.parse(request));
    const outcome: Outcome | undefined = await this.#remove(challengeId)
      ?.answer(answers)
      .then(
        (value) => ({ value }),
        (error: unknown) => ({ error: errorBody(error) }),
      );
    return JSON.stringify(outcome ?? {});
  }

  #wait(pending: Pending<Result>): string {
    const byAddress = Map.groupBy(this.#pending, ([, { address }]) => address);
    const own = byAddress.get(pending.address) ?? [];
    const [most = []] = [...byAddress.values()].toSorted((a, b) => b.length - a.length);
    if (own.length >= MAX_PENDING_LOGINS_PER_ADDRESS) this.#remove(own[0]?.[0])?.giveUp();
    else if (this.#pending.size >= MAX_PENDING_LOGINS) this.#remove(most[0]?.[0])?.giveUp();
    const challengeId = this.#newId();
    this.#pending.set(challengeId, pending);
    setTimeout(() => this.#remove(challengeId)?.giveUp(), this.#lifetimeMs).unref();
    return challengeId;
  }

  /** In a group it names the HQ, so that the others find it, and is sealed. */
  #newId(): string {
    const { group } = this.#options;
    if (group === undefined) return randomBytes(32).toString("base64url");
    const { ownId } = group.calls;
    return `${ownId}.${group.seal.seal(`${SEALED_AS} ${ownId}`, "")}`;
  }

  #remove(challengeId = ""): Pending<Result> | undefined {
    const pending = this.#pending.get(challengeId);
    this.#pending.delete(challengeId);
    return pending;
  }
}

function unlessTimeout(error: unknown): undefined {
  if (!isTimeout(error)) throw error;
}

/** The message is for clients that cannot answer questions. */
function questionError(details: LoginQuestion): ServiceError {
  const asked = details.prompts.map(({ message }) => message.replace(/:\s*$/, "").trim()).join(", ");
  const message = `this system asks for more than a password (${asked}): log in on the page or with \`ttyhq login\``;
  return new ServiceError("login_question", message, { details });
}
