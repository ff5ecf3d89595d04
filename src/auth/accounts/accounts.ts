// Everything that the server asks about users of the system. Worker processes answer.
import { z } from "zod";
import { Semaphore } from "../../lib/async/semaphore.ts";
import { KeyedSingleFlight } from "../../lib/async/single-flight.ts";
import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import type { SystemAccount } from "../../lib/os/system-account.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  ACCOUNT_LOOKUP_TIMEOUT_MS,
  ACCOUNT_LOOKUPS_AT_ONCE,
  ACCOUNT_MEMORY_MS,
  KEY_READ_TIMEOUT_MS,
  MAX_ACCOUNTS,
  MAX_WAITING_ACCOUNT_LOOKUPS,
  SYSTEM_PASSWORD_TIMEOUT_MS,
} from "../../protocol/limits.ts";
import type { Avatar } from "./avatar.ts";
import type { OpenPam } from "./pam.ts";
import { AccountStatus, KeyFiles, PamStep, Avatar as PictureAnswer, type Question } from "./questions.ts";
import { WorkerProcess } from "./worker-process.ts";

/**
 * Users of the system, for a server that runs no program itself. PAM has a worker of its own, which
 * has a process for each login.
 */
export class Accounts implements Disposable {
  readonly #lookups = new WorkerProcess();
  readonly #pam = new WorkerProcess();
  readonly #semaphore = new Semaphore({
    permits: ACCOUNT_LOOKUPS_AT_ONCE,
    maxWaiting: MAX_WAITING_ACCOUNT_LOOKUPS,
    maxWaitMs: ACCOUNT_LOOKUP_TIMEOUT_MS,
    full: () => new ServiceError("internal_error", "too many users are looked up at once"),
  });
  readonly #asking = new KeyedSingleFlight<AccountStatus>();
  readonly #askingGroups = new KeyedSingleFlight<readonly string[]>();
  /** At most MAX_ACCOUNTS; over that the one looked up longest ago is forgotten. */
  readonly #known: ExpiringMap<string, AccountStatus>;
  readonly #groups: ExpiringMap<string, readonly string[]>;
  #lastLogin = 0;

  /** `now` in milliseconds, never going back. */
  constructor(now: () => number) {
    const memory = { lifetimeMs: ACCOUNT_MEMORY_MS, maxEntries: MAX_ACCOUNTS, now };
    this.#known = new ExpiringMap(memory);
    this.#groups = new ExpiringMap(memory);
  }

  /** As the system says now. ServiceError `internal_error` where it does not answer. */
  async lookUp(name: string): Promise<AccountStatus> {
    const status = await this.#asking.ask(name, () => this.#ask({ kind: "account", name }, AccountStatus));
    if (status.refusal === undefined) this.#known.set(name, status);
    else this.#known.delete(name);
    return status;
  }

  /** The same, at most ACCOUNT_MEMORY_MS old. A closed account is looked up each time, so that it is open again at once. */
  async status(name: string): Promise<AccountStatus> {
    return this.#known.get(name) ?? (await this.lookUp(name));
  }

  /** The names of the groups of a user, at most ACCOUNT_MEMORY_MS old. */
  async groups(name: string): Promise<readonly string[]> {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const groups = await this.#askingGroups.ask(name, () =>
      this.#ask({ kind: "groups", name }, z.array(z.string())),
    );
    this.#groups.set(name, groups);
    return groups;
  }

  async hasBlankPassword({ name }: Pick<SystemAccount, "name">): Promise<boolean> {
    return await this.#ask({ kind: "blank-password", name }, z.boolean());
  }

  /** A login at PAM. The caller bounds how many there are, and disposes of each. */
  readonly openPam: OpenPam = (who) => {
    const login = ++this.#lastLogin;
    const use = this.#pam.use();
    const ask = <Answer>(question: Question, answer: z.ZodType<Answer>): Promise<Answer> =>
      this.#pam.ask(question, answer, SYSTEM_PASSWORD_TIMEOUT_MS);
    let last: PamStep | undefined;
    return {
      next: async (answers) => {
        const begin: Question = { kind: "pam-begin", login, ...who };
        const more: Question = { kind: "pam-answers", login, answers: [...answers] };
        last = await ask(last === undefined ? begin : more, PamStep);
        return last;
      },
      [Symbol.dispose]: () => {
        use[Symbol.dispose]();
        // A worker that has died has taken it along.
        if (last?.kind === "question")
          void ask({ kind: "pam-end", login }, z.unknown()).catch(() => undefined);
      },
    };
  };

  /** The authorized keys of an account, or of the server's own user. A worker becomes that user and then ends. */
  async keyFiles({ home, name, uid, gid }: KeyOwner): Promise<readonly KeyFile[]> {
    const user = name === undefined ? {} : { user: { name, uid, gid } };
    const files = await this.#semaphore.take(async () => {
      using worker = new WorkerProcess();
      return await worker.ask({ kind: "keys", home, ...user }, KeyFiles, KEY_READ_TIMEOUT_MS);
    });
    return files.map(({ content, refusal }) =>
      content === undefined ? { refusal } : { bytes: new Uint8Array(Buffer.from(content, "base64")) },
    );
  }

  /** The picture that a user of macOS has chosen. */
  async avatar(user: string): Promise<Avatar | undefined> {
    const found = await this.#ask({ kind: "picture", user }, PictureAnswer.optional());
    if (found === undefined) return undefined;
    const { content, ...avatar } = found;
    return { ...avatar, bytes: new Uint8Array(Buffer.from(content, "base64")) };
  }

  [Symbol.dispose](): void {
    this.#lookups[Symbol.dispose]();
    this.#pam[Symbol.dispose]();
  }

  #ask<Answer>(question: Question, answer: z.ZodType<Answer>): Promise<Answer> {
    return this.#semaphore.take(() => this.#lookups.ask(question, answer, ACCOUNT_LOOKUP_TIMEOUT_MS));
  }
}

/** `name` absent: the server's own user. */
export type KeyOwner = Pick<SystemAccount, "home" | "uid" | "gid"> & { readonly name?: string };
export type KeyFile = { readonly bytes?: Uint8Array; readonly refusal?: string | undefined };
