import { once } from "node:events";
import { createServer, type RequestListener, request } from "node:http";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { chain, everyoneIs, neverOver } from "../../../src/auth/chain.ts";
import { connectionOf } from "../../../src/http/client-address.ts";
import type { Routes } from "../../../src/http/route.ts";
import { createRouter } from "../../../src/http/router.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import { createLogger } from "../../../src/log.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";

const CLOSING = { host: "localhost", connection: "close" };

/** A server with these routes, for a caller who may do everything. `handler`: when the router gets a request. */
async function serve(routes: Routes, handler = (router: RequestListener): RequestListener => router) {
  const unlimited = async (): Promise<void> => {};
  const router = createRouter({
    ...{ routes, authenticate: chain([everyoneIs("me", "socket")]), whenOver: neverOver },
    ...{ clientOf: connectionOf, policy: undefined, rateLimits: { api: unlimited, sessions: unlimited } },
    log: createLogger({ level: "info", format: "json", destination: new PassThrough().resume() }),
  });
  const server = createServer(handler(router)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    port,
    ask: async (path: string, method = "GET") => {
      const asked = request({
        port,
        path,
        method,
        headers: CLOSING,
      }).end();
      const [response] = await once(asked, "response");
      const body = await text(response);
      const json = body.startsWith("{") ? JSON.parse(body) : body;
      return { status: response.statusCode, allow: response.headers.allow, json };
    },
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const plain = (words: string) => {
  const body = new TextEncoder().encode(words);
  return { type: "text/plain", length: body.length, body };
};

test("a path names an endpoint as it is written, with or without a slash at its end", async () => {
  await using own = await serve({
    livez: async () => plain("ok"),
    avatar: async ({ params }) => plain(params.userId),
  });
  for (const path of ["/livez", "/livez/", "/livez?x=1", "http://localhost/livez"])
    expect([path, (await own.ask(path)).json]).toEqual([path, "ok"]);
  for (const path of [
    "/LIVEZ",
    "/%6civez",
    "//livez",
    "/livez/x",
    "/",
    "/api/auth/avatar",
    "/api/auth/avatar//",
  ])
    expect([path, (await own.ask(path)).status]).toEqual([path, 404]);
  expect((await own.ask("/api/none?token=1")).json).toMatchObject({
    code: "not_found",
    error: "there is nothing at GET /api/none",
  });
});

test("a file is taken, and an answer of the API cannot run as a page, however its path is written", async () => {
  await using own = await serve({
    uploadFile: async ({ params, query }, { upload }) => {
      const size = upload === undefined ? 0 : (await collectBytes(upload.body, 10)).length;
      return { path: params.id, name: query.name, size };
    },
  });
  const path = "/api/sessions/a/files";
  for (const each of [path, `${path}/`, `http://localhost${path}`]) {
    const asked = request({ port: own.port, path: `${each}?name=x`, method: "POST", headers: CLOSING });
    asked.end("no JSON");
    const [response] = await once(asked, "response");
    expect([each, JSON.parse(await text(response))]).toEqual([each, { path: "a", name: "x", size: 7 }]);
    expect(response.headers["content-security-policy"]).toContain("sandbox");
  }
});

test("parameters are decoded, the further segments of a path included", async () => {
  await using own = await serve({
    avatar: async ({ params }) => plain(params.userId),
    proxyGet: async ({ params, query }) => plain(JSON.stringify([params.name, params.path, query])),
  });
  expect((await own.ask("/api/auth/avatar/a%2Fb%20%C3%A4")).json).toBe("a/b ä");
  expect((await own.ask("/api/auth/avatar/%zz")).json).toMatchObject({ code: "invalid_request" });
  const asked = await own.ask("/api/remotes/r1/proxy/sessions/a%2Fb?x=1&x=2");
  expect(asked.json).toBe('["r1",["sessions","a/b"],{"x":["1","2"]}]');
  expect((await own.ask("/api/remotes/r1/proxy")).status).toBe(404);
});

test("an unsupported method is refused with the allowed ones", async () => {
  await using own = await serve({ livez: async () => plain("ok") });
  expect(await own.ask("/livez", "HEAD")).toMatchObject({ status: 200, json: "" });
  for (const method of ["POST", "OPTIONS", "PURGE"])
    expect(await own.ask("/livez", method)).toMatchObject({
      ...{ status: 405, allow: "GET, HEAD" },
      json: { code: "method_not_allowed", error: `${method} is not allowed on /livez; allowed: GET, HEAD` },
    });
});

test("a request whose client has left before its turn is not begun", async () => {
  const begun: string[] = [];
  const left = Promise.withResolvers<void>();
  const untilLeft = (router: RequestListener): RequestListener => {
    return (incoming, response) => {
      if (incoming.url !== "/api/auth/avatar/gone") return router(incoming, response);
      response.once("close", () => {
        router(incoming, response);
        left.resolve();
      });
      asked.destroy();
    };
  };
  const avatar: Routes["avatar"] = async ({ params }) => {
    begun.push(params.userId);
    return plain("a picture");
  };
  await using own = await serve({ avatar }, untilLeft);
  const asked = request({ port: own.port, path: "/api/auth/avatar/gone" }).on("error", () => {});
  asked.end();
  await left.promise;
  await own.ask("/api/auth/avatar/here");
  expect(begun).toEqual(["here"]);
});

test.each([
  ["invalid_request", { webSocketVersions: "13\r\n" }],
  ["range_not_satisfiable", { length: { valueOf: 0, toString: 0 } }],
] as const)(
  "an error of another server with the code %s is passed on, whatever its details",
  async (code, details) => {
    await using own = await serve({
      livez: async () => {
        throw new ServiceError(code, "of the remote", { details });
      },
    });
    expect((await own.ask("/livez")).json).toEqual({ error: "of the remote", code, details });
  },
);
