// A server of this project as a process, in any role, with a control directory of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { Child, endProcess } from "../lib/child.ts";

export const MAIN = join(import.meta.dirname, "../../dist/main.js");
/** Programs end at SIGHUP; others have 3 s. */
const CALL_TIMEOUT_MS = 10_000;
const HEALTH_TIMEOUT_MS = 5_000;
/** Sessions that are ended in parallel. */
const DELETES_AT_ONCE = 20;
const COMMON = ["--no-auth", "--json", "--bind", "127.0.0.1", "--port", "0"];
const NO_LIMITS = ["--rate-limit-sessions", "0", "--rate-limit-api", "0"];

const HostHealth = z.object({ pid: z.int().positive() });
const Created = z.object({ id: z.string() });
const SessionList = z.array(z.object({ id: z.string(), status: z.string() }));

/** `pids` and `origin` of a listening server. Disposal ends its sessions, its session host and the server. */
export class TtyhqProcess implements AsyncDisposable {
  readonly origin: string;
  readonly pids: readonly number[];
  readonly #child: Child;
  readonly #controlDir: string;

  /** `role`: options beyond those of every benchmark server. Throws Error if it does not listen. */
  static async start(role: readonly string[] = [], main = MAIN): Promise<TtyhqProcess> {
    const controlDir = mkdtempSync(join(tmpdir(), "ttyhq-bench-control-"));
    const words = [...COMMON, ...NO_LIMITS, "--control-dir", controlDir, ...role];
    const child = await Child.start([process.execPath, main, "serve", ...words]);
    try {
      const url = new URL((await child.line(/"url":"([^"]+)"/))[1] ?? "");
      return new TtyhqProcess(child, controlDir, url.port, await hostPid(controlDir));
    } catch (error) {
      await stop(child, controlDir);
      throw error;
    }
  }

  private constructor(child: Child, controlDir: string, port: string, host: number | undefined) {
    this.#child = child;
    this.#controlDir = controlDir;
    this.origin = `http://127.0.0.1:${port}`;
    this.pids = host === undefined ? [child.pid] : [child.pid, host];
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  /** A session and its address in the page. Disposal ends it. */
  async session(command: readonly string[]): Promise<AsyncDisposable & { readonly url: string }> {
    const { id } = Created.parse(await call(this.origin, "/api/sessions", "POST", { command }));
    return {
      url: `${this.origin}/#/s/${id}`,
      [Symbol.asyncDispose]: async () => void (await call(this.origin, `/api/sessions/${id}`, "DELETE")),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.pids.length > 1) await endSessions(this.origin).catch(() => {});
    await stop(this.#child, this.#controlDir);
  }
}

async function stop(child: Child, controlDir: string): Promise<void> {
  const host = await hostPid(controlDir);
  await child[Symbol.asyncDispose]();
  if (host !== undefined) await endProcess(host);
  rmSync(controlDir, { recursive: true, force: true });
}

async function endSessions(origin: string): Promise<void> {
  const list = SessionList.parse(await call(origin, "/api/sessions", "GET"));
  const left = list.filter((session) => session.status !== "exited");
  while (left.length > 0) {
    const some = left.splice(0, DELETES_AT_ONCE);
    await Promise.all(some.map((session) => call(origin, `/api/sessions/${session.id}`, "DELETE")));
  }
}

async function call(origin: string, path: string, method: string, body?: object): Promise<unknown> {
  const sent = body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return await withDeadline(
    async (signal) => await (await fetch(`${origin}${path}`, { method, signal, ...sent })).json(),
    CALL_TIMEOUT_MS,
    `${method} ${path}`,
  );
}

/** Asks the session host itself, on its socket. Undefined if none answers: an HQ without sessions has none. */
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
