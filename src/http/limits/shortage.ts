import type { Socket } from "node:net";
import type { Descriptors } from "../../lib/os/descriptors.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { refuse } from "./refuse.ts";

/** Descriptors that connections leave to everything else: files, programs, and connections of our own. */
const KEPT_FREE = 32;
/** Connections that may ask before they are refused, as HTTP has it; over that they are refused at once. */
const MAX_ASKED = 8;
/** What a client is given to ask, so that it can be told. */
const ASK_TIMEOUT_MS = 1_000;
/** Without a refusal for so long the shortage is over. */
const OVER_AFTER_MS = 10_000;

const NO_DESCRIPTORS = new ServiceError(
  "out_of_descriptors",
  "the server has no file descriptors left for another connection: try again later, or let it have more (LimitNOFILE of its unit, or ulimit -n)",
);

/** New connections while the process is short of file descriptors: they are refused, and closed. */
export class Shortage implements Disposable {
  readonly #descriptors: Pick<Descriptors, "left">;
  readonly #onChange: (isShort: boolean) => void;
  /** At most as many as are accepted in the time that it takes to say no. */
  readonly #refused = new Set<Socket | string>();
  #over: NodeJS.Timeout | undefined;

  /** `onChange` hears of the first refusal, and when there was none for 10 s. */
  constructor(descriptors: Pick<Descriptors, "left">, onChange: (isShort: boolean) => void) {
    this.#descriptors = descriptors;
    this.#onChange = onChange;
  }

  /**
   * Whether this new connection is one too many; `name` is what its requests are known by. One whose client waits for a
   * handshake (not `isPlain`) can only be told after that.
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
    // Before it has asked: whoever speaks first may not be understood, but does not wait.
    if (isTold && isPlain) refuse(socket, NO_DESCRIPTORS);
    else if (isTold) socket.destroy();
    return true;
  }

  /** Refuses a request that came over such a connection; false for one that is welcome. */
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
