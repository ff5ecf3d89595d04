import type { Client } from "../../protocol/client/client.ts";
import { isFinal } from "../../protocol/client/link.ts";
import type { Attachment, SessionSocket } from "../../protocol/client/session-socket.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { checkCanary } from "./canary-stream.ts";

/** An input without an echo is given up after this time. */
const ECHO_TIMEOUT_MS = 10_000;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

type CanarySessionOptions = {
  readonly client: Pick<Client, "remove">;
  readonly socket: Pick<SessionSocket, "attach" | "write">;
  readonly record: Pick<SessionRecord, "id">;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** An input came back. */
  readonly onEcho: (roundTripMs: number) => void;
  /** Output was missing or wrong: the session is of no more use. */
  readonly onLost: (bytes: number) => void;
};

/** One canary, followed like any session by a viewer. */
export class CanarySession {
  readonly #options: CanarySessionOptions;
  readonly #attachment: Attachment;
  /** Its program has ended, or it is of no more use. */
  isOver = false;
  #hasOutput = false;
  #next = 0;
  #sent: { readonly key: string; readonly at: number } | undefined;
  #letter = 0;

  constructor(options: CanarySessionOptions) {
    this.#options = options;
    this.#attachment = options.socket.attach(
      options.record.id,
      { from: 0 },
      {
        onOutput: ({ offset, bytes }) => this.#took(offset, bytes),
        onResync: ({ offset }) => this.#lost(offset - this.#next),
        onEvent: ({ kind }) => {
          this.isOver ||= kind === "exit";
        },
        onError: (error) => {
          this.isOver ||= isFinal(error);
        },
      },
    );
  }

  /** Types a letter unless an earlier one is on its way. */
  ping(): void {
    const { now, socket, record } = this.#options;
    const isWaiting = this.#sent !== undefined && now() - this.#sent.at < ECHO_TIMEOUT_MS;
    // The terminal itself would echo what comes before its program has prepared it.
    if (isWaiting || !this.#hasOutput || this.isOver) return;
    const key = LETTERS.charAt(this.#letter++ % LETTERS.length);
    this.#sent = { key, at: now() };
    // Without a connection it is refused: the next one is typed later.
    socket.write(record.id, new TextEncoder().encode(key)).catch(() => undefined);
  }

  /** Ends the program; the session host removes the session. Hosts of older versions are asked to. */
  async end(): Promise<void> {
    this.isOver = true;
    this.#attachment[Symbol.dispose]();
    const { client, record } = this.#options;
    const { status } = await client.remove(record.id);
    if (status === "exited") await client.remove(record.id).catch(() => undefined);
  }

  #took(offset: number, bytes: Uint8Array): void {
    this.#hasOutput = true;
    this.#next = offset + bytes.length;
    const { wrongBytes, keys } = checkCanary(offset, bytes);
    if (wrongBytes > 0) this.#lost(wrongBytes);
    if (this.#sent === undefined || !keys.includes(this.#sent.key)) return;
    this.#options.onEcho(this.#options.now() - this.#sent.at);
    this.#sent = undefined;
  }

  /** Later bytes are wrong as well and are not counted. */
  #lost(bytes: number): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#options.onLost(bytes);
  }
}
