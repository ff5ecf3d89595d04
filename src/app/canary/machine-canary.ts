import type { Log } from "../../log.ts";
import type { Client } from "../../protocol/client/client.ts";
import { isFinal } from "../../protocol/client/link.ts";
import type { Attachment, SessionSocket } from "../../protocol/client/session-socket.ts";
import { CANARY_COMMAND, checkCanary } from "./canary-stream.ts";

/** `remoteId`: on an HQ. */
export type CanaryMachine = {
  readonly name: string;
  readonly remoteId: string | undefined;
  /** It has no canary, which would keep it from being drained. */
  readonly isCordoned: boolean;
};

export type CanaryParts = {
  readonly client: Pick<Client, "create" | "remove">;
  readonly socket: Pick<SessionSocket, "attach" | "write">;
  readonly log: Pick<Log, "error" | "warn" | "info">;
  /** Output was missing or wrong. */
  readonly onLost: (bytes: number) => void;
};

/** Followed like any session by a viewer. */
type Followed = { readonly id: string; readonly attachment: Attachment };

const RETRY_MS = 10_000;
/** An input without an echo is given up after this time. */
const ECHO_TIMEOUT_MS = 10_000;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

const now = performance.now.bind(performance);

/** The canary of one machine: one session after another. */
export class MachineCanary {
  readonly machine: CanaryMachine;
  /** Seconds since the epoch: the last echo, or the beginning. */
  lastSuccess = Date.now() / 1_000;
  roundTripMs: number | undefined;
  readonly #parts: CanaryParts;
  #followed: Followed | undefined;
  /** The session's program has ended, or its output was wrong: another session begins. */
  #isOver = false;
  /** Offset of the next byte of output. */
  #next = 0;
  #sent: { readonly key: string; readonly at: number } | undefined;
  #letter = 0;
  /** The creation or the end of a session. */
  #work: Promise<void> | undefined;
  /** The last failure was logged. */
  #hasFailed = false;
  #retryAt = 0;

  constructor(machine: CanaryMachine, parts: CanaryParts) {
    this.machine = machine;
    this.#parts = parts;
  }

  get isRunning(): boolean {
    return this.#followed !== undefined && !this.#isOver;
  }

  /** Does what is due: creates or ends a session, or types a letter. */
  visit(): void {
    if (this.#work !== undefined) return;
    if (this.#followed === undefined) {
      if (now() >= this.#retryAt) this.#work = this.#create();
    } else if (this.#isOver) this.#work = this.#drop();
    else this.#ping(this.#followed);
  }

  /** Ends the session; one whose machine does not answer ends by itself within a minute. */
  async end(): Promise<void> {
    await this.#work;
    await this.#drop();
  }

  async #create(): Promise<void> {
    const { name: remote, remoteId } = this.machine;
    const { client, log } = this.#parts;
    try {
      const { id } = await client.create({
        ...{ name: "canary", command: [...CANARY_COMMAND], cwd: "/", cols: 80, rows: 24, transient: true },
        ...(remoteId === undefined ? {} : { remoteId }),
      });
      this.#follow(id);
      if (this.#hasFailed) log.info({ remote }, "canary runs again");
      this.#hasFailed = false;
    } catch (error) {
      this.#retryAt = now() + RETRY_MS;
      if (!this.#hasFailed) log.warn({ remote, error }, "canary not started");
      this.#hasFailed = true;
    } finally {
      this.#work = undefined;
    }
  }

  #follow(id: string): void {
    [this.#isOver, this.#next, this.#sent] = [false, 0, undefined];
    const attachment = this.#parts.socket.attach(
      id,
      { from: 0 },
      {
        onOutput: ({ offset, bytes }) => this.#took(id, offset, bytes),
        onResync: ({ offset }) => this.#lost(id, offset - this.#next),
        onEvent: ({ kind }) => {
          this.#isOver ||= kind === "exit";
        },
        onError: (error) => {
          this.#isOver ||= isFinal(error);
        },
      },
    );
    this.#followed = { id, attachment };
  }

  /** The session host removes the session once its program has ended. Hosts of older versions are asked to. */
  async #drop(): Promise<void> {
    const { client } = this.#parts;
    const followed = this.#followed;
    this.#followed = undefined;
    if (followed !== undefined) {
      const { id, attachment } = followed;
      attachment[Symbol.dispose]();
      // It may be gone with its host.
      const status = await client.remove(id).then(
        (removed) => removed.status,
        () => undefined,
      );
      if (status === "exited") await client.remove(id).catch(() => undefined);
    }
    this.#work = undefined;
  }

  /** Types a letter unless an earlier one is on its way. */
  #ping({ id }: Followed): void {
    const isWaiting = this.#sent !== undefined && now() - this.#sent.at < ECHO_TIMEOUT_MS;
    // The terminal itself would echo what comes before its program has prepared it.
    if (isWaiting || this.#next === 0) return;
    const key = LETTERS.charAt(this.#letter++ % LETTERS.length);
    this.#sent = { key, at: now() };
    // Without a connection it is refused: the next one is typed later.
    this.#parts.socket.write(id, new TextEncoder().encode(key)).catch(() => undefined);
  }

  #took(id: string, offset: number, bytes: Uint8Array): void {
    this.#next = offset + bytes.length;
    const { wrongBytes, keys } = checkCanary(offset, bytes);
    if (wrongBytes > 0) this.#lost(id, wrongBytes);
    if (this.#sent === undefined || !keys.includes(this.#sent.key)) return;
    this.roundTripMs = now() - this.#sent.at;
    this.lastSuccess = Date.now() / 1_000;
    this.#sent = undefined;
  }

  /** Later bytes are wrong as well and are not counted. */
  #lost(session: string, bytes: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.onLost(bytes);
    this.#parts.log.error({ remote: this.machine.name, session, bytes }, "canary lost bytes");
  }
}
