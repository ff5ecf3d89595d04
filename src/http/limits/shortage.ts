import type { Socket } from "node:net";
import type { Descriptors } from "../../lib/os/descriptors.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { refuse } from "../reply.ts";

/** Descriptors reserved for files, programs and outgoing connections. */
const KEPT_FREE = 32;
/** Connections that are refused after their request, as HTTP expects; over that they are refused at once. */
const MAX_ASKED = 8;
/** Time for a client to send the request that will be refused. */
const ASK_TIMEOUT_MS = 1_000;
/** The shortage ends after this time without refusals. */
const OVER_AFTER_MS = 10_000;

const NO_DESCRIPTORS = new ServiceError(
  "out_of_descriptors",
  "the server has no file descriptors left for another connection: try again later, or let it have more (LimitNOFILE of its unit, or ulimit -n)",
);

/** Refuses and closes new connections while the process is short of file descriptors. */
export class Shortage implements Disposable {
  readonly #descriptors: Pick<Descriptors, "left">;
  readonly #onChange: (isShort: boolean) => void;
  /** As many as are accepted while others are being refused. */
  readonly #refused = new Set<Socket | string>();
  #over: NodeJS.Timeout | undefined;

  /** `onChange`: called at the first refusal, and after 10 s without any. */
  constructor(descriptors: Pick<Descriptors, "left">, onChange: (isShort: boolean) => void) {
    this.#descriptors = descriptors;
    this.#onChange = onChange;
  }

  /**
   * Whether this connection is refused; `name` identifies its requests. During a TLS handshake (not `isPlain`) it
   * cannot be answered yet.
   */
  meets(socket: Socket, name: Socket | string, isPlain: boolean): boolean {
    if (this.#descriptors.left > KEPT_FREE) return false;
    this.#tell();
    const isTold = this.#refused.size >= MAX_ASKED;
    this.#refused.add(name);
    const late = setTimeout(() => socket.destroy(), ASK_TIMEOUT_MS);
    socket.once("close", () => {
      clearTimeout(late);
      this.#refused.delete(name);
    });
    // Answers before the request arrives, so that the client does not wait.
    if (isTold && isPlain) refuse(socket, NO_DESCRIPTORS);
    else if (isTold) socket.destroy();
    return true;
  }

  answers(socket: Socket, name: Socket | string): boolean {
    if (!this.#refused.has(name)) return false;
    if (!socket.writableEnded) refuse(socket, NO_DESCRIPTORS);
    return true;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#over);
  }

  #tell(): void {
    if (this.#over !== undefined) {
      this.#over.refresh();
      return;
    }
    this.#onChange(true);
    this.#over = setTimeout(() => {
      this.#over = undefined;
      this.#onChange(false);
    }, OVER_AFTER_MS);
    this.#over.unref();
  }
}
