// Where the hooks of other users tell a server of root that something has happened. Its own socket is closed to them,
// this one is open to everybody on the machine: who says a key that stands in the hooks of a followed repository, and so
// is read by those alone who may read the repository, has it looked at once more. Nothing is answered.
import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, rename, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { ServiceError } from "../protocol/errors.ts";

/** A system directory that only root may write to. */
const RUN_DIR = "/run/ttyhq";
const MAX_CONNECTIONS = 64;
const READ_TIMEOUT_MS = 5_000;
/** Of a key with its line feed. */
const MAX_KEY_BYTES = 64;
const WRITABLE_BY_OTHERS = 0o022;

/** One for each control directory. */
export function hookSocketPath(controlDir: string): string {
  return join(RUN_DIR, `${createHash("sha256").update(controlDir).digest("hex").slice(0, 32)}.sock`);
}

export class HookSocket implements AsyncDisposable {
  readonly path: string;
  readonly #onKey: (key: string) => void;
  #opening: Promise<void> | undefined;
  #server: Server | undefined;
  #inode: number | undefined;

  constructor({ path, onKey }: { readonly path: string; readonly onKey: (key: string) => void }) {
    this.path = path;
    this.#onKey = onKey;
  }

  /** Idempotent. Rejects with `forbidden` where other users may write to the folder. */
  async open(): Promise<void> {
    this.#opening ??= this.#listen();
    await this.#opening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.#server?.close();
    // It may be the socket of a later server.
    const there = await lstat(this.path).catch(() => undefined);
    if (there !== undefined && there.ino === this.#inode) await rm(this.path, { force: true });
  }

  async #listen(): Promise<void> {
    const folder = dirname(this.path);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const { uid, mode } = await lstat(folder);
    if (uid !== process.getuid?.() || (mode & WRITABLE_BY_OTHERS) !== 0) {
      throw new ServiceError(
        "forbidden",
        `others may write to ${folder}: hooks cannot tell the server by it`,
      );
    }
    const temporary = `${this.path}.${process.pid}`;
    await rm(temporary, { force: true });
    this.#server = createServer((socket) => this.#read(socket));
    this.#server.maxConnections = MAX_CONNECTIONS;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject).listen(temporary, resolve);
    await promise;
    this.#server.unref();
    await chmod(temporary, 0o666);
    this.#inode = (await lstat(temporary)).ino;
    await rename(temporary, this.path);
  }

  #read(socket: Socket): void {
    let said = "";
    const timer = setTimeout(() => socket.destroy(), READ_TIMEOUT_MS);
    socket.on("error", () => undefined).on("close", () => clearTimeout(timer));
    socket.on("data", (piece: Uint8Array) => {
      said += Buffer.from(piece).toString("latin1", 0, MAX_KEY_BYTES);
      const end = said.indexOf("\n");
      if (end === -1 && said.length < MAX_KEY_BYTES) return;
      socket.destroy();
      if (end > 0) this.#onKey(said.slice(0, end));
    });
  }
}
