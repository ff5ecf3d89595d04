// The work of a git worker for its session host.
import type { RpcPeer } from "../../lib/async/rpc.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { FollowMode } from "../follow/follow-mode.ts";
import { FollowList } from "../follow/list.ts";
import { GitProgram } from "../git.ts";
import { FollowHooks } from "../hooks/follow-hooks.ts";
import { LiveStatus } from "../status/live-status.ts";
import { Worktrees } from "../worktrees/worktrees.ts";
import { type Answers, type Caller, type RepositoryEndpoint, repositoryAnswers } from "./answers.ts";
import { HOST, type LogLine, type RepositoryCall, type Setup, WORKER } from "./methods.ts";

const now = (): number => performance.now();

export class GitWorker implements AsyncDisposable {
  readonly #status: LiveStatus;
  readonly #follow: FollowMode;
  readonly #answers: Answers;

  /** `env`: that of the process. Follows the repositories of `entries`. */
  constructor(host: RpcPeer, env: Readonly<Record<string, string | undefined>>, { target, entries }: Setup) {
    const log = { info: logTo(host, "info"), warn: logTo(host, "warn") };
    const program = new GitProgram({ env });
    const list = new FollowList(entries, (all) => host.call(HOST.store, all));
    this.#status = new LiveStatus({
      ...{ program, log, now },
      onStatus: (cwd, status) => host.emit(HOST.status, { cwd, status }),
    });
    this.#follow = new FollowMode({
      ...{ program, list, hooks: new FollowHooks({ list, target }), log, now },
      notices: { add: (notice) => host.emit(HOST.notice, notice) },
      onChange: (commonDir) => {
        worktrees.forget();
        this.#status.changed(commonDir);
      },
    });
    const worktrees = new Worktrees({ program, follow: this.#follow, now });
    this.#answers = repositoryAnswers({ program, worktrees, follow: this.#follow });
    host.serve(WORKER.call, async (call, signal) => JSON.stringify(await this.#answer(call, signal)));
    host.serve(WORKER.folder, ({ cwd, state }) => this.#status.set(cwd, state));
    host.serve(WORKER.check, ({ cwds }) => this.#status.check(cwds));
    this.#follow.resume();
  }

  /** Completes changes of repositories that have begun. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#status[Symbol.dispose]();
    await this.#follow[Symbol.asyncDispose]();
  }

  #answer({ name, input, user }: RepositoryCall, signal: AbortSignal): Promise<unknown> {
    const answers = this.#answers;
    const answer: unknown = isRepositoryEndpoint(name, answers) ? answers[name] : undefined;
    if (!isRepositoryEndpoint(name, answers) || !isAnswer(answer))
      throw new ServiceError("not_found", `a git worker does not answer ${name}`);
    const { params, query, body }: EndpointSchemas = endpoints[name];
    const parsed = {
      ...{ params: params?.parse(input.params), query: query?.parse(input.query) },
      body: body?.parse(input.body),
    };
    return answer(parsed, { user, signal });
  }
}

function logTo(host: RpcPeer, level: LogLine["level"]): (fields: object, message: string) => void {
  return (fields, message) => {
    const plain = Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? (value.stack ?? value.message) : value,
    ]);
    host.emit(HOST.log, { level, fields: Object.fromEntries(plain), message });
  };
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
