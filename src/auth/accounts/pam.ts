// The process native/pam.c, which asks PAM about one login: starting it, and the protocol on its pipes.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { type Readable, Writable } from "node:stream";
import { withDeadline } from "../../lib/async/deadline.ts";
import { nativeFile } from "../../lib/os/installation.ts";
import { PAM_STEP_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { PamStep, PamUser } from "./methods.ts";

/** The service's name in /etc/pam.d; without that file PAM uses "other". */
export const PAM_SERVICE = "ttyhq";
export const PAM_PROGRAM = nativeFile("ttyhq-pam");
/** PAM asks at most 32 questions of 512 bytes at a time; longer messages are an error. */
const MAX_MESSAGE_BYTES = 256 * 1024;

/** The PAM codes that are distinguished (_pam_types.h). */
export const PamCode = {
  success: 0,
  permissionDenied: 6,
  wrongPassword: 7,
  unknownUser: 10,
  tooManyTries: 11,
  passwordExpired: 12,
  accountExpired: 13,
} as const;

/** One login at PAM; disposing ends it. */
export type PamConversation = Disposable & {
  /** The first call starts the login, without answers; later calls answer PAM's questions. */
  next(answers: readonly string[]): Promise<PamStep>;
};

export class PamProcess implements PamConversation {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #chunks: AsyncIterator<Buffer>;
  #received: Buffer = Buffer.alloc(0);

  /** Throws Error where no file descriptor is left. */
  constructor({ username, address = "" }: PamUser) {
    // A process group of its own, so that programs which PAM modules start end with it.
    const child = spawn(PAM_PROGRAM, [], {
      ...{ cwd: "/", env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, detached: true },
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#child = child;
    // A failed start ends the output, which a waiting `next` notices. Without descriptors Node leaves the streams undefined.
    child.on("error", () => child.stdout?.destroy());
    if (!(child.stdin instanceof Writable)) throw new Error("too many open files to ask PAM");
    child.stdin.on("error", () => undefined);
    this.#chunks = child.stdout[Symbol.asyncIterator]();
    child.stdin.write(encodeTexts([PAM_SERVICE, username, address]));
  }

  async next(answers: readonly string[]): Promise<PamStep> {
    this.#child.stdin.write(encodeTexts(answers));
    return await withDeadline(this.#step(), PAM_STEP_TIMEOUT_MS, "PAM's answer");
  }

  [Symbol.dispose](): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has already exited.
    }
  }

  async #step(): Promise<PamStep> {
    for (;;) {
      const found = decodeStep(this.#received);
      if (found !== undefined) {
        this.#received = this.#received.subarray(found.length);
        return found.step;
      }
      const { value, done } = await this.#chunks.next();
      if (done === true || this.#received.length > MAX_MESSAGE_BYTES)
        throw new Error("the program that asks PAM ended without an answer");
      this.#received = Buffer.concat([this.#received, value]);
    }
  }
}

export function encodeTexts(texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}

/** The messages up to a request for answers or the end; `undefined` if that has not arrived. */
export function decodeStep(bytes: Buffer): { readonly step: PamStep; readonly length: number } | undefined {
  const prompts: { message: string; echo: boolean }[] = [];
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const kind = String.fromCharCode(bytes[at] ?? 0);
    at += 1;
    if (kind === "A") return { step: { kind: "question", prompts, messages }, length: at };
    if (at + 4 > bytes.length) return undefined;
    const number = bytes.readUInt32BE(at);
    at += 4;
    if (kind === "D") return { step: { kind: "done", code: number }, length: at };
    if (at + number > bytes.length) return undefined;
    const text = bytes.toString("utf8", at, at + number);
    at += number;
    if (kind === "P" || kind === "E") prompts.push({ message: text, echo: kind === "E" });
    else if (kind === "I" || kind === "X") messages.push(text);
    else throw new Error("the program that asks PAM is of another version: run `npm ci` again");
  }
  return undefined;
}
