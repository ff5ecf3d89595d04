// Questions about system users, answered by worker processes.
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

/** PAM has a worker of its own, which starts a process for each login. */
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
  /** At most MAX_ACCOUNTS; over that the oldest is dropped. */
  readonly #known: ExpiringMap<string, AccountStatus>;
  readonly #groups: ExpiringMap<string, readonly string[]>;
  #lastLogin = 0;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    const memory = { lifetimeMs: ACCOUNT_MEMORY_MS, maxEntries: MAX_ACCOUNTS, now };
    this.#known = new ExpiringMap(memory);
    this.#groups = new ExpiringMap(memory);
  }

  /** Not cached. ServiceError `internal_error` if the system does not answer. */
  async lookUp(name: string): Promise<AccountStatus> {
    const status = await this.#asking.ask(name, () => this.#ask({ kind: "account", name }, AccountStatus));
    if (status.refusal === undefined) this.#known.set(name, status);
    else this.#known.delete(name);
    return status;
  }

  /** At most ACCOUNT_MEMORY_MS old. Closed accounts are not cached, so that a reopened one works at once. */
  async status(name: string): Promise<AccountStatus> {
    return this.#known.get(name) ?? (await this.lookUp(name));
  }

  /** The names of a user's groups, at most ACCOUNT_MEMORY_MS old. */
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

  /** The caller bounds the number of logins at PAM and disposes of each. */
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
        // If the worker has died, so has the login.
        if (last?.kind === "question")
          void ask({ kind: "pam-end", login }, z.unknown()).catch(() => undefined);
      },
    };
  };

  /** The authorized_keys files of an account. The worker becomes that user and then exits. */
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

/** Without `name`: the server's own user. */
export type KeyOwner = Pick<SystemAccount, "home" | "uid" | "gid"> & { readonly name?: string };
export type KeyFile = { readonly bytes?: Uint8Array; readonly refusal?: string | undefined };
