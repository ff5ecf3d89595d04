import { expect, test } from "vitest";
import { Refresher } from "../../../src/web/refresher.ts";
import { shown } from "./hq.ts";

const NEVER_MS = 2 ** 31 - 1;

type Asked = PromiseWithResolvers<void> & { readonly signal: AbortSignal };

/** What is read ends when the test says so, or is given up; after a failure it is not read again by itself. */
class Server {
  readonly #asked: Asked[] = [];
  #more = Promise.withResolvers<void>();

  readonly read = (signal: AbortSignal): Promise<void> => {
    const asked = { ...Promise.withResolvers<void>(), signal };
    signal.addEventListener("abort", () => asked.reject(signal.reason));
    this.#asked.push(asked);
    this.#more.resolve();
    this.#more = Promise.withResolvers();
    return asked.promise;
  };

  /** The n-th reading, once it has begun. */
  async refresher(n: number): Promise<Asked> {
    while (this.#asked.length < n) await this.#more.promise;
    const asked = this.#asked[n - 1];
    if (asked === undefined) throw new Error(`there is no reading ${n}`);
    return asked;
  }
}

function refresherOf(server: Server): Refresher {
  const refresher = new Refresher({ read: server.read, ...shown, retryMs: NEVER_MS });
  refresher.refresh();
  return refresher;
}

/** What a promise sets off has happened. */
const settled = (): Promise<void> => new Promise(setImmediate);

test("a failed reading is repeated on a new connection, without a delay", async () => {
  const server = new Server();
  using refresher = refresherOf(server);
  (await server.refresher(1)).reject(new Error("no network"));
  await settled();
  refresher.renewed();
  await server.refresher(2);
});

test("a reading that hangs on the previous connection is replaced", async () => {
  const server = new Server();
  using refresher = refresherOf(server);
  (await server.refresher(1)).resolve();
  await settled();
  refresher.refresh();
  const hanging = await server.refresher(2);
  refresher.renewed();
  expect(hanging.signal.aborted).toBe(true);
  (await server.refresher(3)).resolve();
});

test("the first reading goes on beside the page's first connection, and is followed by another", async () => {
  const server = new Server();
  using refresher = refresherOf(server);
  const first = await server.refresher(1);
  refresher.renewed();
  expect(first.signal.aborted).toBe(false);
  first.resolve();
  await server.refresher(2);
});
