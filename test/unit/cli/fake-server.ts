import { once } from "node:events";
import { mkdtempDisposableSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `body` is sent as JSON. */
export type FakeAnswer = { readonly status: number; readonly body: unknown };

/** `requests`: such as "GET /api/sessions", in order. */
export type FakeServer = AsyncDisposable & {
  readonly controlDir: string;
  readonly requests: readonly string[];
  readonly http: Server;
};

/** A server on the socket of a control directory. */
export async function fakeServer(answer: (request: string) => FakeAnswer): Promise<FakeServer> {
  await using stack = new AsyncDisposableStack();
  const controlDir = stack.use(mkdtempDisposableSync(join(tmpdir(), "ttyhq-fake-"))).path;
  const requests: string[] = [];
  const http = createServer((incoming, response) => {
    const request = `${incoming.method} ${incoming.url}`;
    requests.push(request);
    const { status, body } = answer(request);
    incoming.resume();
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await once(http.listen(join(controlDir, "server.sock")), "listening");
  stack.defer(() => {
    http.close();
    // Clients keep their connections.
    http.closeAllConnections();
  });
  const owned = stack.move();
  return { controlDir, requests, http, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
