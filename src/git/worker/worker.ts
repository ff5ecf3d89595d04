// What a git worker does with the messages of its session host.
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { errorBody, ServiceError } from "../../protocol/errors.ts";
import { FollowMode } from "../follow/follow-mode.ts";
import { type FollowEntry, FollowList } from "../follow/list.ts";
import type { Notice } from "../follow/notices.ts";
import { GitProgram } from "../git.ts";
import { FollowHooks } from "../hooks/follow-hooks.ts";
import { LiveStatus, type StatusPresence } from "../status/live-status.ts";
import { readTreeTops } from "../worktrees/list.ts";
import { Worktrees } from "../worktrees/worktrees.ts";
import { type Answers, type Caller, type RepositoryEndpoint, repositoryAnswers } from "./answers.ts";
import type { FromWorker, ToWorker } from "./messages.ts";

type Message<Type extends ToWorker["type"]> = Extract<ToWorker, { type: Type }>;
type Following = { readonly follow: FollowMode; readonly list: FollowList; readonly answers: Answers };
type Storing = { readonly resolve: () => void; readonly reject: (error: Error) => void };

const now = (): number => performance.now();

export class GitWorker implements AsyncDisposable {
  readonly #program: GitProgram;
  readonly #send: (message: FromWorker) => void;
  readonly #status: LiveStatus;
  /** By the number that the host gave each session. */
  readonly #presences = new Map<number, StatusPresence>();
  readonly #calls = new Map<number, AbortController>();
  readonly #storing = new Map<number, Storing>();
  #following: Following | undefined;
  #lastStore = 0;

  /** `env`: that of the process. */
  constructor(parts: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly send: (message: FromWorker) => void;
  }) {
    this.#program = new GitProgram({ env: parts.env });
    this.#send = parts.send;
    this.#status = new LiveStatus({ program: this.#program, log: this.#log, now });
  }

  handle(message: ToWorker): void {
    switch (message.type) {
      case "begin":
        this.#following = this.#begin(message);
        void this.#following.follow.resume();
        break;
      case "call":
        void this.#call(message);
        break;
      case "cancel":
        this.#calls.get(message.number)?.abort();
        break;
      case "hint":
        this.#following?.follow.hint(message.repoPath);
        break;
      case "stored":
        this.#stored(message);
        break;
      case "is-idle":
        this.#send({ type: "idle", isIdle: this.#isIdle });
        break;
      default:
        this.#session(message);
        break;
    }
  }

  /** What was begun in a repository is finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const call of this.#calls.values()) call.abort();
    this.#status[Symbol.dispose]();
    await this.#following?.follow[Symbol.asyncDispose]();
  }

  get #isIdle(): boolean {
    return this.#following?.list.entries.length === 0 && !this.#status.isWatching;
  }

  #session(message: Message<"enter" | "ended" | "leave" | "listed" | "check">): void {
    if (message.type === "listed") this.#status.asked();
    else if (message.type === "check") this.#status.check(message.cwds);
    else if (message.type === "enter") this.#enter(message);
    else if (message.type === "ended") this.#presences.get(message.id)?.ended();
    else {
      this.#presences.get(message.id)?.[Symbol.dispose]();
      this.#presences.delete(message.id);
    }
  }

  #enter({ id, cwd, isLive }: Message<"enter">): void {
    const onChange = (): void => this.#send({ type: "facts", id, facts: presence.facts });
    const presence = this.#status.enter(cwd, { isLive, onChange });
    this.#presences.set(id, presence);
    // Another session's folder may be known already.
    if (presence.facts !== undefined) onChange();
  }

  #begin({ target, entries }: Message<"begin">): Following {
    const program = this.#program;
    const list = new FollowList({ read: async () => entries, write: (all) => this.#store(all) });
    const hooks = new FollowHooks({ list, target });
    const notices = { add: (notice: Notice) => void this.#notify(notice) };
    const onChange = (commonDir: string): void => {
      worktrees.forget();
      this.#status.changed(commonDir);
    };
    const follow = new FollowMode({ program, list, hooks, notices, log: this.#log, onChange, now });
    const worktrees: Worktrees = new Worktrees({ program, follow, now });
    return { follow, list, answers: repositoryAnswers({ program, worktrees, follow }) };
  }

  async #call({ number, name, input, user }: Message<"call">): Promise<void> {
    const call = new AbortController();
    this.#calls.set(number, call);
    try {
      const answer = await this.#answer(name, input, { user, signal: call.signal });
      this.#send({ type: "answer", number, body: JSON.stringify(answer) });
    } catch (error) {
      if (!(error instanceof ServiceError)) this.#log.error({ error, name }, "request failed");
      this.#send({ type: "failure", number, error: { ...errorBody(error) } });
    } finally {
      this.#calls.delete(number);
    }
  }

  #answer(name: string, input: Message<"call">["input"], caller: Caller): Promise<unknown> {
    const answers = this.#following?.answers;
    if (answers === undefined || !isRepositoryEndpoint(name, answers))
      throw new ServiceError("not_found", `a git worker does not answer ${name}`);
    const { params, query, body }: EndpointSchemas = endpoints[name];
    const parsed = {
      ...{ params: params?.parse(input.params), query: query?.parse(input.query) },
      body: body?.parse(input.body),
    };
    const answer: unknown = answers[name];
    if (!isAnswer(answer)) throw new ServiceError("not_found", `a git worker does not answer ${name}`);
    return answer(parsed, caller);
  }

  /** At once for those who ask, then for those who watch. */
  async #notify({ notification, user }: Notice): Promise<void> {
    const { repoPath } = notification;
    this.#send({ type: "notice", notification, user });
    try {
      const tops = [...(await readTreeTops(this.#program.at(repoPath)))];
      this.#send({ type: "announce", notification, user, tops });
    } catch (error) {
      this.#log.warn({ error, repoPath }, "notification not sent");
    }
  }

  /** Resolves when the host has stored them. */
  #store(entries: readonly FollowEntry[]): Promise<void> {
    this.#lastStore += 1;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#storing.set(this.#lastStore, { resolve, reject });
    this.#send({ type: "store", number: this.#lastStore, entries: [...entries] });
    return promise;
  }

  #stored({ number, error }: Message<"stored">): void {
    const storing = this.#storing.get(number);
    this.#storing.delete(number);
    if (error === undefined) storing?.resolve();
    else storing?.reject(new Error(error));
  }

  readonly #log = {
    info: (fields: object, message: string) => this.#write("info", fields, message),
    warn: (fields: object, message: string) => this.#write("warn", fields, message),
    error: (fields: object, message: string) => this.#write("error", fields, message),
  };

  #write(level: "info" | "warn" | "error", fields: object, message: string): void {
    const plain = Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? (value.stack ?? value.message) : value,
    ]);
    this.#send({ type: "log", level, fields: Object.fromEntries(plain), message });
  }
}

type Schema = { parse(value: unknown): unknown };
type EndpointSchemas = { readonly params?: Schema; readonly query?: Schema; readonly body?: Schema };
type AnyAnswer = (input: object, caller: Caller) => Promise<unknown>;

function isRepositoryEndpoint(name: string, answers: Answers): name is RepositoryEndpoint {
  return Object.hasOwn(answers, name);
}

function isAnswer(value: unknown): value is AnyAnswer {
  return typeof value === "function";
}
