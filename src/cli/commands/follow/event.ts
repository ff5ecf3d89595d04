// `ttyhq git event` as git's hooks start it, once for every commit: what the other commands need is not loaded, which
// makes it 30 ms of processor time in place of 300.
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";

/** What a hook says, and where; the words are those of hook-script.ts. */
export type HookEvent = { readonly event: string } & (
  | { readonly controlDir: string }
  | { readonly socket: string; readonly key: string }
);

const ANSWER_TIMEOUT_MS = 10_000;

/** `undefined`: somebody typed something else, and the command line as a whole is to look at it. */
export function hookEvent(argv: readonly string[]): HookEvent | undefined {
  const [git, command, eventFlag, event, placeFlag, place, keyFlag, key, ...rest] = argv;
  if (git !== "git" || command !== "event" || eventFlag !== "--event" || rest.length > 0) return undefined;
  if (event === undefined || place === undefined) return undefined;
  if (placeFlag === "--control-dir" && keyFlag === undefined) return { event, controlDir: place };
  const isKey = placeFlag === "--socket" && keyFlag === "--key" && key !== undefined;
  return isKey ? { event, socket: place, key } : undefined;
}

/** Tells the server. Never rejects: a git command must not fail because of it. */
export async function tellServer(event: HookEvent, repoPath: string): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  if ("key" in event) await sayKey(event, signal);
  else await postEvent(event, repoPath, signal);
}

async function postEvent(
  { controlDir, event }: { readonly controlDir: string; readonly event: string },
  repoPath: string,
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({ repoPath, event });
  // Without a server the session host receives the event.
  for (const name of ["server.sock", "host.sock"]) {
    if (await post(join(controlDir, name), body, signal)) return;
  }
}

/** Resolves with whether there was an answer. */
async function post(socketPath: string, body: string, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const headers = { "content-type": "application/json" };
  const outgoing = request({ socketPath, method: "POST", path: "/api/git/event", headers, signal });
  outgoing.on("error", () => resolve(false));
  outgoing.on("response", (response) => {
    response.on("error", () => resolve(true)).on("close", () => resolve(true));
    response.resume();
  });
  outgoing.end(body);
  return await promise;
}

/** The key identifies the repository. */
async function sayKey(
  { socket, key }: { readonly socket: string; readonly key: string },
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const connection = connect({ path: socket, signal }, () => connection.write(`${key}\n`));
  connection.on("error", () => resolve()).on("close", () => resolve());
  connection.resume();
  await promise;
}
