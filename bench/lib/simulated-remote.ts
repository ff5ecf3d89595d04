import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Registration } from "../../src/hq/joining/registration.ts";
import { createCaller } from "../../src/protocol/client/caller.ts";
import type { Send } from "../../src/protocol/client/send.ts";
import { POSITION_HEADER, positionText } from "../../src/protocol/directory/session-change.ts";
import { errorBody, ServiceError } from "../../src/protocol/errors.ts";
import { PROTOCOL_REVISION } from "../../src/protocol/frame/frame.ts";
import type { Health } from "../../src/protocol/schemas/health.ts";
import { createSender } from "../../src/remote/send.ts";
import { SimulatedSessions } from "./simulated-sessions.ts";
import { SimulatedSocket } from "./simulated-socket.ts";

/** Longer than the pause between two health checks. */
const KEEP_ALIVE_MS = 30_000;

/**
 * A machine as its HQ sees it: an origin of its own, the health, the list, single sessions and /ws, protected by the
 * token of its registration. It joins and stays with the code of a real remote.
 */
export class SimulatedRemote {
  readonly sessions: SimulatedSessions;
  readonly #id = randomUUID();
  readonly #token = randomBytes(32).toString("base64url");
  readonly #name: string;
  readonly #server: Server;
  readonly #socket = new SimulatedSocket(() => this.sessions.position);
  #isHanging = false;

  static async listen(name: string, sessions: number): Promise<SimulatedRemote> {
    const remote = new SimulatedRemote(name, new SimulatedSessions(sessions));
    remote.#server.listen(0, "127.0.0.1");
    await once(remote.#server, "listening");
    return remote;
  }

  private constructor(name: string, sessions: SimulatedSessions) {
    this.#name = name;
    this.sessions = sessions;
    sessions.watch((event) => this.#socket.tell(event));
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      if (!this.#isHanging) this.#answer(request, response);
    });
    this.#server.on("upgrade", (request, socket, head) => {
      if (this.#isAllowed(request)) this.#socket.upgrade(request, socket, head);
      else socket.destroy();
    });
  }

  /** Joins the HQ, and stays until this process ends. Resolves when it has been accepted. */
  async join(hq: string): Promise<void> {
    const joined = Promise.withResolvers<void>();
    const sender = createSender({ url: hq, headers: {} });
    const send: Send = (request) => (this.#isHanging ? new Promise(() => {}) : sender.send(request));
    new Registration({
      hq: createCaller(send),
      request: { id: this.#id, name: this.#name, url: this.#url(), token: this.#token },
      backend: this.sessions,
      uplinks: () => ({ isOpen: true, closed: 0 }),
      // Its first line reports the acceptance; each refused attempt reports one, and attempts continue.
      log: { info: () => joined.resolve(), warn: () => {} },
      now: Date.now,
      random: Math.random,
    });
    await joined.promise;
  }

  /** From now on it accepts connections and answers nothing, like a stopped machine. */
  hang(): void {
    this.#isHanging = true;
    this.#socket.isHanging = true;
  }

  #url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  #isAllowed({ headers }: IncomingMessage): boolean {
    return headers.authorization === `Bearer ${this.#token}`;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    try {
      if (!this.#isAllowed(request))
        throw new ServiceError("unauthorized", "another token than this remote's");
      response.setHeader(POSITION_HEADER, positionText(this.sessions.position));
      reply(response, 200, this.#resource(request.url ?? "/"));
    } catch (error) {
      reply(response, error instanceof ServiceError ? error.status : 500, errorBody(error));
    }
  }

  /** Throws ServiceError. */
  #resource(path: string): object {
    if (path === "/api/health") return this.#health();
    if (path === "/api/sessions") return this.sessions.list();
    const session = this.sessions.get(path.slice("/api/sessions/".length));
    if (session === undefined) throw new ServiceError("session_not_found", `there is nothing at ${path}`);
    return session;
  }

  #health(): Health {
    return {
      ...{
        status: "healthy",
        mode: "remote",
        version: "0.0.0",
        protocol: PROTOCOL_REVISION,
        pid: process.pid,
      },
      ...{ remoteId: this.#id, instanceId: this.#id, uptime: Math.floor(process.uptime()) },
      ...{ sessions: this.sessions.size, timestamp: new Date().toISOString() },
    };
  }
}

function reply(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
