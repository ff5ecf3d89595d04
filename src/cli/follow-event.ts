// `ttyhq git event` as git's hooks start it, once for every commit: what the other commands need is not loaded, which
// makes it 30 ms of processor time in place of 300.
import { request } from "node:http";
import { join } from "node:path";

/** What a hook says; the words are those of hook-script.ts. */
export type HookEvent = { readonly controlDir: string; readonly event: string };

const ANSWER_TIMEOUT_MS = 10_000;

/** `undefined`: somebody typed something else, and the command line as a whole is to look at it. */
export function hookEvent(argv: readonly string[]): HookEvent | undefined {
  const [git, command, eventFlag, event, dirFlag, controlDir, ...rest] = argv;
  if (git !== "git" || command !== "event" || eventFlag !== "--event" || dirFlag !== "--control-dir")
    return undefined;
  return event === undefined || controlDir === undefined || rest.length > 0
    ? undefined
    : { event, controlDir };
}

/** Tells the server of that control directory. Resolves whatever comes of it: a git command must not fail of this. */
export async function tellServer({ controlDir, event }: HookEvent, repoPath: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const outgoing = request({
    ...{ socketPath: join(controlDir, "server.sock"), method: "POST", path: "/api/git/event" },
    headers: { "content-type": "application/json" },
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
  outgoing.on("error", () => resolve());
  outgoing.on("response", (response) => {
    response.on("error", () => resolve()).on("close", () => resolve());
    response.resume();
  });
  outgoing.end(JSON.stringify({ repoPath, event }));
  await promise;
}
