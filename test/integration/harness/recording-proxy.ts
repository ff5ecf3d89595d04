// Between an HQ and a server: forwards everything, and keeps both sides' messages on the WebSocket.
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { WebSocket, WebSocketServer } from "ws";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import { decodeFrame, type Frame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { decodeSubscribe } from "../../../src/protocol/frame/payload.ts";

export class RecordingProxy implements AsyncDisposable {
  /** Frames of the server, in order. */
  readonly answers: Frame[] = [];
  readonly #asked: Frame[] = [];
  readonly #came = new Emitter<void>();
  readonly #http = createServer((incoming, response) => this.#pass(incoming, response));
  readonly #sockets = new WebSocketServer({ server: this.#http });
  /** The server's origin, to be set before the first request. */
  target = "";

  private constructor() {
    this.#sockets.on("connection", (near, incoming) => this.#relay(near, incoming));
  }

  static async open(): Promise<RecordingProxy> {
    const proxy = new RecordingProxy();
    proxy.#http.listen(0, "127.0.0.1");
    await once(proxy.#http, "listening");
    return proxy;
  }

  get url(): string {
    const address = this.#http.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return `http://127.0.0.1:${address.port}`;
  }

  /** The flags of each SUBSCRIBE to that session; undefined for an UNSUBSCRIBE. */
  subscriptions(sessionId: string): readonly (number | undefined)[] {
    return this.#asked.flatMap(({ type, sessionId: id, payload }) => {
      if (id !== sessionId || (type !== FrameType.SUBSCRIBE && type !== FrameType.UNSUBSCRIBE)) return [];
      return [type === FrameType.SUBSCRIBE ? decodeSubscribe(payload).flags : undefined];
    });
  }

  onFrame(listener: () => void): Disposable {
    return this.#came.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const near of this.#sockets.clients) near.terminate();
    this.#http.close();
    this.#http.closeAllConnections();
    await once(this.#http, "close");
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, url = "", headers } = incoming;
    const outgoing = request(`${this.target}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  }

  #relay(near: WebSocket, { headers: { authorization } }: IncomingMessage): void {
    const headers = authorization === undefined ? {} : { authorization };
    const far = new WebSocket(`${this.target.replace("http", "ws")}/ws`, { headers });
    near.on("message", (message: Buffer) => {
      this.#asked.push(decodeFrame(message));
      this.#came.emit();
      if (far.readyState === WebSocket.OPEN) far.send(message);
      else far.once("open", () => far.send(message));
    });
    far.on("message", (message: Buffer) => {
      this.answers.push(decodeFrame(message));
      near.send(message);
    });
    far.on("error", () => near.terminate());
    far.on("close", () => near.terminate());
    near.on("close", () => far.terminate());
  }
}
