import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { withDeadline } from "../../src/lib/deadline.ts";
import { Child, endProcess } from "../lib/child.ts";
import type { Server, ServerPeer } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";

const MAIN = join(import.meta.dirname, "../../dist/main.js");
/** Programs end at SIGHUP; one that does not has 3 s. */
const DELETE_TIMEOUT_MS = 10_000;
const HEALTH_TIMEOUT_MS = 5_000;
/** Sessions that are ended at the same time. */
const DELETES_AT_ONCE = 20;

const HostHealth = z.object({ pid: z.int().positive() });
const SessionList = z.array(z.object({ id: z.string(), status: z.string() }));

export const ttyhq: ServerPeer = {
  kind: "server",
  name: "ttyhq",
  about: "this project: recording on, session host apart",
  sharesSessions: true,
  keepsSessions: true,
  missing: async () => (existsSync(MAIN) ? undefined : "dist/main.js is not there: npm run build"),
  start,
};

async function start(workshop: Workshop): Promise<Server> {
  const controlDir = mkdtempSync(join(tmpdir(), "ttyhq-bench-control-"));
  const where = ["--bind", "127.0.0.1", "--port", "0", "--control-dir", controlDir];
  const limits = ["--rate-limit-sessions", "0", "--rate-limit-api", "0"];
  const child = await Child.start([
    process.execPath,
    MAIN,
    "serve",
    "--no-auth",
    "--json",
    ...where,
    ...limits,
  ]);
  const stop = async (url: string | undefined): Promise<void> => {
    if (url !== undefined) await endSessions(url).catch(() => {});
    const host = await hostPid(controlDir);
    await child[Symbol.asyncDispose]();
    if (host !== undefined) await endProcess(host);
    rmSync(controlDir, { recursive: true, force: true });
  };
  try {
    const url = new URL((await child.line(/"url":"([^"]+)"/))[1] ?? "");
    const host = await hostPid(controlDir);
    if (host === undefined) throw new Error("no session host answers on its socket");
    return running(Number(url.port), [child.pid, host], workshop, () => stop(url.origin));
  } catch (error) {
    await stop(undefined);
    throw error;
  }
}

function running(
  port: number,
  pids: readonly number[],
  workshop: Workshop,
  stop: () => Promise<void>,
): Server {
  let last = 0;
  return {
    pids,
    session: (words) => {
      const id = `bench-${++last}`;
      const create = {
        path: "/api/sessions",
        body: JSON.stringify({ id, command: [workshop.program, ...words] }),
      };
      const plan = (from: number) =>
        ({ port, path: "/ws", speech: { kind: "v3", sessionId: id, from }, isLate: false }) as const;
      return { first: () => ({ ...plan(0), create }), next: (from = 0) => plan(from) };
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function endSessions(origin: string): Promise<void> {
  const call = async (path: string, method: string): Promise<unknown> =>
    await withDeadline(
      async (signal) => await (await fetch(`${origin}${path}`, { method, signal })).json(),
      DELETE_TIMEOUT_MS,
      `${method} ${path}`,
    );
  const list = SessionList.parse(await call("/api/sessions", "GET"));
  const left = list.filter((session) => session.status !== "exited");
  while (left.length > 0) {
    const some = left.splice(0, DELETES_AT_ONCE);
    await Promise.all(some.map((session) => call(`/api/sessions/${session.id}`, "DELETE")));
  }
}

/** Asks the session host itself, on its socket. Undefined where none answers. */
async function hostPid(controlDir: string): Promise<number | undefined> {
  const answered = Promise.withResolvers<string>();
  const call = get({
    socketPath: join(controlDir, "host.sock"),
    path: "/api/health",
    timeout: HEALTH_TIMEOUT_MS,
  });
  call.on("response", (response) => text(response).then(answered.resolve, answered.reject));
  call.on("timeout", () => call.destroy(new Error("the session host does not answer")));
  call.on("error", answered.reject);
  try {
    return HostHealth.parse(JSON.parse(await answered.promise)).pid;
  } catch {
    return undefined;
  }
}
