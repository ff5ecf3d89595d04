// The process that does all work on the repositories of one user, as that user. A session host starts it and ends it when
// it is idle; without the host it ends by itself.
import { env } from "node:process";
import { parentPeer } from "../../lib/os/worker-process.ts";
import type { Endpoint } from "../../protocol/endpoints/endpoint.ts";
import { gitEndpoints } from "../../protocol/endpoints/git.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { FollowMode } from "../follow/follow-mode.ts";
import { FollowList } from "../follow/list.ts";
import { GitProgram } from "../git.ts";
import { FollowHooks } from "../hooks/follow-hooks.ts";
import { LiveStatus } from "../status/live-status.ts";
import { Worktrees } from "../worktrees/worktrees.ts";
import { type Answers, type Caller, type RepositoryEndpoint, repositoryAnswers } from "./answers.ts";
import { saveFile, sendFile } from "./files.ts";
import { HOST, type LogLine, type RepositoryCall, type Setup, WORKER } from "./methods.ts";

const now = (): number => performance.now();
const log = { info: logger("info"), warn: logger("warn") };
const scope = new AsyncDisposableStack();
/** Calls without an answer: changes of repositories, and transfers of files. */
const running = new Set<Promise<unknown>>();
// A change that has begun is completed first, and the draft of a file that did not arrive is removed.
scope.defer(async () => void (await Promise.allSettled(running)));
const host = parentPeer(() => void scope.disposeAsync().finally(() => process.exit()));
host.serve(WORKER.begin, begin);

/** Follows the repositories of `entries`. */
function begin({ target, entries }: Setup): void {
  const program = new GitProgram({ env });
  const list = new FollowList(entries, (all) => host.call(HOST.store, all));
  const follow = scope.use(
    new FollowMode({
      ...{ program, list, hooks: new FollowHooks({ list, target }), log, now },
      notices: { add: (notice) => host.emit(HOST.notice, notice) },
      onChange: (commonDir) => {
        worktrees.forget();
        status.changed(commonDir);
      },
    }),
  );
  const status = scope.use(
    new LiveStatus({
      ...{ program, log, now },
      onStatus: (cwd, status) => host.emit(HOST.status, { cwd, status }),
    }),
  );
  const worktrees = new Worktrees({ program, follow, now });
  const answers = repositoryAnswers({ program, worktrees, follow });
  const { home } = program;
  host.serve(WORKER.call, (call, signal) => tracked(answer(answers, call, signal)).then(JSON.stringify));
  host.serve(WORKER.saveFile, (file, signal) => tracked(saveFile(file, host, signal)));
  host.serve(WORKER.sendFile, (file, signal) => tracked(sendFile(file, { host, home }, signal)));
  host.serve(WORKER.folder, ({ cwd, state }) => status.set(cwd, state));
  host.serve(WORKER.check, ({ cwds }) => status.check(cwds));
  follow.resume();
}

async function tracked<T>(work: Promise<T>): Promise<T> {
  running.add(work);
  try {
    return await work;
  } finally {
    running.delete(work);
  }
}

async function answer(
  answers: Answers,
  { name, input, user }: RepositoryCall,
  signal: AbortSignal,
): Promise<unknown> {
  if (!isRepositoryEndpoint(name, answers))
    throw new ServiceError("not_found", `a git worker does not answer ${name}`);
  const { params, query, body }: Endpoint = gitEndpoints[name];
  const handler: Answerer["answer"] = answers[name];
  const parsed = {
    ...{ params: params?.parse(input.params), query: query?.parse(input.query) },
    body: body?.parse(input.body),
  };
  return await handler(parsed, { user, signal });
}

function logger(level: LogLine["level"]): (fields: object, message: string) => void {
  return (fields, message) => {
    const plain = Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? (value.stack ?? value.message) : value,
    ]);
    host.emit(HOST.log, { level, fields: Object.fromEntries(plain), message });
  };
}

/** A method, as its input is that of any endpoint: the endpoint's schema has checked it. */
type Answerer = { answer(input: object, caller: Caller): Promise<unknown> };

function isRepositoryEndpoint(name: string, answers: Answers): name is RepositoryEndpoint {
  return Object.hasOwn(answers, name);
}
