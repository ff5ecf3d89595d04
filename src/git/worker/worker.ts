// The git worker's side of the messages with its session host.
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { errorBody, ServiceError } from "../../protocol/errors.ts";
import { FollowMode } from "../follow/follow-mode.ts";
import { FollowList } from "../follow/list.ts";
import { GitProgram } from "../git.ts";
import { FollowHooks } from "../hooks/follow-hooks.ts";
import { LiveStatus } from "../status/live-status.ts";
import { Worktrees } from "../worktrees/worktrees.ts";
import { type Answers, type Caller, type RepositoryEndpoint, repositoryAnswers } from "./answers.ts";
import type { FromWorker, ToWorker } from "./messages.ts";

type Message<Type extends ToWorker["type"]> = Extract<ToWorker, { type: Type }>;

const now = (): number => performance.now();

export class GitWorker implements AsyncDisposable {
  readonly #send: (message: FromWorker) => void;
  readonly #status: LiveStatus;
  readonly #follow: FollowMode;
  readonly #answers: Answers;
  readonly #calls = new Map<number, AbortController>();
  /** Each "store" that the host has not confirmed yet. */
  readonly #storing = new Map<number, PromiseWithResolvers<void>>();
  #lastStore = 0;

  /** `env`: that of the process. Follows the repositories of `entries`. */
  constructor({
    env,
    send,
    target,
    entries,
  }: Omit<Message<"begin">, "type"> & {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly send: (message: FromWorker) => void;
  }) {
    this.#send = send;
    const log = { info: this.#logged("info"), warn: this.#logged("warn") };
    const program = new GitProgram({ env });
    const list = new FollowList(entries, (all) => this.#store(all));
    this.#status = new LiveStatus({
      ...{ program, log, now },
      onStatus: (cwd, status) => send({ type: "status", cwd, ...(status && { status }) }),
    });
    this.#follow = new FollowMode({
      ...{ program, list, hooks: new FollowHooks({ list, target }), log, now },
      notices: { add: (notice) => send({ type: "notice", ...notice }) },
      onChange: (commonDir) => {
        worktrees.forget();
        this.#status.changed(commonDir);
      },
    });
    const worktrees = new Worktrees({ program, follow: this.#follow, now });
    this.#answers = repositoryAnswers({ program, worktrees, follow: this.#follow });
    this.#follow.resume();
  }

  handle(message: Exclude<ToWorker, Message<"begin">>): void {
    switch (message.type) {
      case "call":
        void this.#call(message);
        break;
      case "cancel":
        this.#calls.get(message.number)?.abort();
        break;
      case "folder":
        this.#status.set(message.cwd, message.state);
        break;
      case "check":
        this.#status.check(message.cwds);
        break;
      case "stored":
        this.#stored(message);
        break;
    }
  }

  /** Completes changes of repositories that have begun. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const call of this.#calls.values()) call.abort();
    this.#status[Symbol.dispose]();
    await this.#follow[Symbol.asyncDispose]();
  }

  async #call({ number, name, input, user }: Message<"call">): Promise<void> {
    const call = new AbortController();
    this.#calls.set(number, call);
    try {
      const answer = await this.#answer(name, input, { user, signal: call.signal });
      this.#send({ type: "answer", number, body: JSON.stringify(answer) });
    } catch (error) {
      if (!(error instanceof ServiceError)) this.#logged("error")({ error, name }, "request failed");
      this.#send({ type: "failure", number, error: { ...errorBody(error) } });
    } finally {
      this.#calls.delete(number);
    }
  }

  #answer(name: string, input: Message<"call">["input"], caller: Caller): Promise<unknown> {
    const answers = this.#answers;
    const answer: unknown = isRepositoryEndpoint(name, answers) ? answers[name] : undefined;
    if (!isRepositoryEndpoint(name, answers) || !isAnswer(answer))
      throw new ServiceError("not_found", `a git worker does not answer ${name}`);
    const { params, query, body }: EndpointSchemas = endpoints[name];
    const parsed = {
      ...{ params: params?.parse(input.params), query: query?.parse(input.query) },
      body: body?.parse(input.body),
    };
    return answer(parsed, caller);
  }

  /** Resolves once the host has stored the entries. */
  #store(entries: Message<"begin">["entries"]): Promise<void> {
    const number = ++this.#lastStore;
    const storing = Promise.withResolvers<void>();
    this.#storing.set(number, storing);
    this.#send({ type: "store", number, entries });
    return storing.promise;
  }

  #stored({ number, error }: Message<"stored">): void {
    const storing = this.#storing.get(number);
    this.#storing.delete(number);
    if (error === undefined) storing?.resolve();
    else storing?.reject(new Error(error));
  }

  #logged(level: "info" | "warn" | "error"): (fields: object, message: string) => void {
    return (fields, message) => {
      const plain = Object.entries(fields).map(([name, value]) => [
        name,
        value instanceof Error ? (value.stack ?? value.message) : value,
      ]);
      this.#send({ type: "log", level, fields: Object.fromEntries(plain), message });
    };
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
