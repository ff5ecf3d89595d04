// A server that an HQ takes for a remote, with the answers of a test.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import { PATIENCE_MS } from "./patience.ts";

/** `body` as JSON, or `text` with any content type. */
export type FakeAnswer = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly type?: string;
  readonly location?: string;
};

export class FakeRemote implements AsyncDisposable {
  /** Requested paths. */
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #asked = new Emitter<void>();

  private constructor(answer: (path: string) => FakeAnswer | undefined) {
    this.#server = createServer(({ url = "" }, response) => {
      this.requests.push(url);
      this.#asked.emit();
      const given = answer(url);
      if (given !== undefined) send(response, given);
    });
    this.#server.on("upgrade", ({ url = "" }, socket) => {
      this.requests.push(`upgrade ${url}`);
      this.#asked.emit();
      socket.on("error", () => {});
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** Sets the `answer` to a path; `undefined` accepts the request and never answers. Handshakes are never answered. */
  static async open(answer: (path: string) => FakeAnswer | undefined): Promise<FakeRemote> {
    const remote = new FakeRemote(answer);
    remote.#server.listen(0, "127.0.0.1");
    await once(remote.#server, "listening");
    return remote;
  }

  /** Answers only health requests. */
  static hanging(): Promise<FakeRemote> {
    return FakeRemote.open((path) =>
      path === "/api/health" ? { status: 200, body: { status: "healthy" } } : undefined,
    );
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Resolves when that path was requested. */
  async asked(path: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => void (this.requests.includes(path) && resolve());
    using _listening = this.#asked.on(check);
    check();
    await withDeadline(promise, PATIENCE_MS, `a request for ${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function send(response: ServerResponse, answer: FakeAnswer): void {
  const { status, body, text, type = "application/json", location } = answer;
  const where = location === undefined ? {} : { location };
  response.writeHead(status, { "content-type": type, "set-cookie": "a=b", ...where });
  response.end(text ?? (body === undefined ? "" : JSON.stringify(body)));
}
