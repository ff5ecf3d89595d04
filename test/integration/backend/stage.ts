// The environment of the conformance suite: a backend, and common steps of the tests.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateSession,
  type CreateSessionBody,
  type SessionRecord,
} from "../../../src/protocol/schemas/session.ts";
import type { SessionBackend } from "../../../src/sessions/backend.ts";
import { Follower } from "../harness/follower.ts";
import { viewText } from "../harness/view-bytes.ts";

/** The parts of an implementation. Disposal ends everything that it started. */
export type BackendUnderTest = AsyncDisposable & {
  readonly backend: SessionBackend;
  /** Options of every session there, such as its remote. */
  readonly place?: CreateSessionBody;
};

/** A shell that runs commands and echoes nothing. */
const QUIET_SHELL = ["sh", "-c", 'stty -echo; echo ready; while read -r line; do eval "$line"; done'];

export class Stage implements AsyncDisposable {
  readonly #open: () => Promise<BackendUnderTest>;
  #opened: BackendUnderTest | undefined;
  #directory = "";

  constructor(open: () => Promise<BackendUnderTest>) {
    this.#open = open;
  }

  /** Before the first test. */
  async open(): Promise<void> {
    this.#directory = await mkdtemp(join(tmpdir(), "ttyhq-backend-"));
    this.#opened = await this.#open();
  }

  get backend(): SessionBackend {
    if (this.#opened === undefined) throw new Error("the stage is not open");
    return this.#opened.backend;
  }

  /** For the files of tests. */
  get directory(): string {
    return this.#directory;
  }

  create(body: CreateSessionBody): Promise<SessionRecord> {
    return this.backend.create(CreateSession.parse({ ...this.#opened?.place, ...body }));
  }

  /** A script of the POSIX shell. */
  run(script: string): Promise<SessionRecord> {
    return this.create({ command: ["sh", "-c", script] });
  }

  /** A script that prints `ready` first; resolves when its follower has seen it. */
  async ready(script: string): Promise<{ id: string; follower: Follower }> {
    const { id } = await this.run(script);
    const follower = await this.follow(id);
    await this.shows(follower, /ready\r?\n/);
    return { id, follower };
  }

  quietShell(): Promise<{ id: string; follower: Follower }> {
    return this.ready(QUIET_SHELL[2] ?? "");
  }

  follow(id: string): Promise<Follower> {
    return Follower.subscribe(this.backend, id);
  }

  /** Waits until all of the output, including that before the follower, matches the pattern. */
  async shows(follower: Follower, pattern: RegExp): Promise<void> {
    const { id, offset } = follower;
    const earlier = await viewText(this.backend, id, { kind: "output", from: 0, to: offset });
    await follower.until(
      () => pattern.exec(earlier + follower.text) ?? undefined,
      `the output of ${pattern}`,
    );
  }

  type(id: string, text: string): Promise<void> {
    return this.backend.write(id, new TextEncoder().encode(text));
  }

  /** The record of a session after it has ended by itself. */
  async ended(id: string): Promise<SessionRecord> {
    using follower = await this.follow(id);
    await follower.exit();
    return this.backend.get(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened?.[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** The code of the ServiceError; any other error itself. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => "success",
    (reason: unknown) => reason,
  );
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
}
