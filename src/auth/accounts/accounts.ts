// Questions about system users, answered by worker processes.
import type { Method } from "../../lib/async/rpc.ts";
import { Semaphore } from "../../lib/async/semaphore.ts";
import { ExpiringMap, keepAnswer } from "../../lib/data/expiring-map.ts";
import { programFile } from "../../lib/os/installation.ts";
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
import { AccountWorker } from "./account-worker.ts";
import {
  ACCOUNTS,
  type AccountStatus,
  type Avatar,
  type KeyFiles,
  type KeyOwner,
  type PamStep,
  type PamUser,
} from "./methods.ts";
import type { PamConversation } from "./pam.ts";

/** PAM has a worker of its own, which starts a process for each login. */
export class Accounts implements Disposable {
  readonly #program: string;
  readonly #lookups: AccountWorker;
  readonly #pam: AccountWorker;
  readonly #semaphore = new Semaphore({
    permits: ACCOUNT_LOOKUPS_AT_ONCE,
    maxWaiting: MAX_WAITING_ACCOUNT_LOOKUPS,
    maxWaitMs: ACCOUNT_LOOKUP_TIMEOUT_MS,
    full: () => new ServiceError("internal_error", "too many users are looked up at once"),
  });
  /** At most MAX_ACCOUNTS; over that the oldest is dropped. Failures are not kept. */
  readonly #known: ExpiringMap<string, Promise<AccountStatus>>;
  readonly #groups: ExpiringMap<string, Promise<readonly string[]>>;
  #lastLogin = 0;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number, program = programFile("account-worker")) {
    this.#program = program;
    this.#lookups = new AccountWorker(program);
    this.#pam = new AccountWorker(program);
    const memory = { lifetimeMs: ACCOUNT_MEMORY_MS, maxEntries: MAX_ACCOUNTS, now };
    this.#known = new ExpiringMap(memory);
    this.#groups = new ExpiringMap(memory);
  }

  /** Not cached. ServiceError `internal_error` if the system does not answer. */
  async lookUp(name: string): Promise<AccountStatus> {
    const status = await keepAnswer(this.#known, name, this.#ask(ACCOUNTS.status, name));
    if (status.refusal !== undefined) this.#known.delete(name);
    return status;
  }

  /** At most ACCOUNT_MEMORY_MS old. Closed accounts are not cached, so that a reopened one works at once. */
  async status(name: string): Promise<AccountStatus> {
    return await (this.#known.get(name) ?? this.lookUp(name));
  }

  /** The names of a user's groups, at most ACCOUNT_MEMORY_MS old. */
  async groups(name: string): Promise<readonly string[]> {
    return await (this.#groups.get(name) ?? keepAnswer(this.#groups, name, this.#ask(ACCOUNTS.groups, name)));
  }

  async hasBlankPassword(name: string): Promise<boolean> {
    return await this.#ask(ACCOUNTS.hasBlankPassword, name);
  }

  /** The caller bounds the number of logins at PAM and disposes of each. */
  openPam(who: PamUser): PamConversation {
    const login = ++this.#lastLogin;
    let last: PamStep | undefined;
    return {
      next: async (answers) => {
        const user = last === undefined ? who : undefined;
        const input = { login, user, answers: [...answers] };
        last = await this.#pam.call(ACCOUNTS.stepLogin, input, SYSTEM_PASSWORD_TIMEOUT_MS);
        return last;
      },
      [Symbol.dispose]: () => {
        // If the worker has died, so has the login.
        if (last?.kind === "question") this.#pam.emit(ACCOUNTS.endLogin, login);
      },
    };
  }

  /** The authorized_keys files of an account. The worker becomes that user and then exits. */
  async keyFiles(owner: KeyOwner): Promise<KeyFiles> {
    return await this.#semaphore.take(async () => {
      using worker = new AccountWorker(this.#program);
      return await worker.call(ACCOUNTS.keyFiles, owner, KEY_READ_TIMEOUT_MS);
    });
  }

  async avatar(user: string): Promise<Avatar | undefined> {
    return await this.#ask(ACCOUNTS.avatar, user);
  }

  [Symbol.dispose](): void {
    this.#lookups[Symbol.dispose]();
    this.#pam[Symbol.dispose]();
  }

  #ask<Input, Answer>(method: Method<Input, Answer>, input: Input): Promise<Answer> {
    return this.#semaphore.take(() => this.#lookups.call(method, input, ACCOUNT_LOOKUP_TIMEOUT_MS));
  }
}
