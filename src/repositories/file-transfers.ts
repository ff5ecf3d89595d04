// The bytes of files between a session host and one user's git worker. The worker opens the files and sets the pace.
import { HOST, WORKER } from "../git/worker/methods.ts";
import type { RpcPeer } from "../lib/async/rpc.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_TRANSFERS } from "../protocol/limits.ts";
import type { SavedFile } from "../protocol/schemas/file.ts";
import type { Content, NewFile } from "../sessions/backend.ts";
import type { SessionPlace } from "../sessions/user-folders.ts";

type Place = Omit<SessionPlace, "account">;

/** What the worker may ask for or deliver while its call runs. */
type Transfer = {
  readonly read?: () => Promise<string | undefined>;
  readonly opened?: (file: { readonly name: string; readonly size: number }) => void;
  readonly write?: (bytes: Uint8Array) => Promise<void>;
};

export class FileTransfers {
  /** At most MAX_TRANSFERS. */
  readonly #transfers = new Map<number, Transfer>();
  readonly #peer: () => Promise<RpcPeer>;
  #last = 0;

  /** `peer`: the worker, which is started if necessary. */
  constructor(peer: () => Promise<RpcPeer>) {
    this.#peer = peer;
  }

  /** Answers a worker. It knows only transfers of its own user. */
  serve(peer: RpcPeer): void {
    peer.serve(HOST.read, ({ transfer }) => this.#transfers.get(transfer)?.read?.());
    peer.serve(HOST.opened, ({ transfer, ...file }) => this.#transfers.get(transfer)?.opened?.(file));
    peer.serve(HOST.write, async ({ transfer, bytes }) =>
      this.#transfers.get(transfer)?.write?.(Buffer.from(bytes, "base64")),
    );
  }

  async save(place: Place, file: NewFile, signal: AbortSignal): Promise<SavedFile> {
    const peer = await this.#peer();
    const body = file.body[Symbol.asyncIterator]();
    // The worker tells of a failure in its own words only.
    let failure: { readonly error: unknown } | undefined;
    const read = async (): Promise<string | undefined> => {
      try {
        const { done, value } = await body.next();
        return done === true ? undefined : Buffer.from(value).toString("base64");
      } catch (error) {
        failure = { error };
        throw error;
      }
    };
    try {
      return await this.#during({ read }, (transfer) =>
        peer.call(WORKER.saveFile, { transfer, place, name: file.name }, signal),
      );
    } catch (error) {
      throw failure === undefined ? error : failure.error;
    } finally {
      // Not awaited: a client that is silent ends when its request is aborted.
      void body.return?.().catch(() => undefined);
    }
  }

  async open(place: Place, path: string, signal: AbortSignal): Promise<Content> {
    const peer = await this.#peer();
    const opened = Promise.withResolvers<{ readonly name: string; readonly size: number }>();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    let left: number | undefined;
    const receiver = {
      opened: (file: { readonly name: string; readonly size: number }): void => {
        left ??= file.size;
        opened.resolve(file);
      },
      write: async (bytes: Uint8Array): Promise<void> => {
        // Bytes beyond the announced length would be taken for the next answer on the connection.
        if (left === undefined || bytes.length > left) throw changed(path);
        // A worker that does not wait for its reader would fill the memory.
        if (writer.desiredSize === 0) throw new ServiceError("git_failed", `${path} was sent too fast`);
        left -= bytes.length;
        await writer.write(bytes);
      },
    };
    const sent = this.#during(receiver, (transfer) =>
      peer.call(WORKER.sendFile, { transfer, place, path }, signal),
    ).then(async () => {
      if (left !== 0) throw changed(path);
      await writer.close();
    });
    // A client that has left wants no more bytes, and no error.
    sent.catch((error: unknown) => writer.abort(error).catch(() => undefined));
    const { name, size } = await Promise.race([opened.promise, sent.then(() => opened.promise)]);
    const headers = { "content-disposition": attachment(name) };
    return { type: "application/octet-stream", length: size, headers, body: readable };
  }

  async #during<T>(transfer: Transfer, work: (transfer: number) => Promise<T>): Promise<T> {
    if (this.#transfers.size >= MAX_TRANSFERS) {
      const message = `${MAX_TRANSFERS} files of this user are on their way already: try again when one has arrived`;
      throw new ServiceError("too_many_transfers", message);
    }
    this.#last += 1;
    const id = this.#last;
    this.#transfers.set(id, transfer);
    try {
      return await work(id);
    } finally {
      this.#transfers.delete(id);
    }
  }
}

function changed(path: string): ServiceError {
  return new ServiceError("git_failed", `${path} changed while it was read: try again`);
}

/** Content-Disposition with a name in any script (RFC 6266, 4.3). */
function attachment(name: string): string {
  const plain = name.replace(/[^\w. -]/g, "_");
  const escaped = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `attachment; filename="${plain}"; filename*=UTF-8''${escaped}`;
}
