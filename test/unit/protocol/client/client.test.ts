import { describe, expect, test } from "vitest";
import { type Client, createClient } from "../../../../src/protocol/client/client.ts";
import type { ClientRequest } from "../../../../src/protocol/client/send.ts";
import { endpoints } from "../../../../src/protocol/endpoints/endpoints.ts";
import { errorBody, ServiceError } from "../../../../src/protocol/errors.ts";
import { MAX_ERROR_BODY_BYTES, MAX_REPLY_BYTES } from "../../../../src/protocol/limits.ts";

type Reply = { readonly status?: number; readonly body?: string | Iterable<Uint8Array> };

/** A client whose requests are kept and answered with `reply`. */
function clientOf(reply: Reply): { readonly client: Client; readonly requests: ClientRequest[] } {
  const requests: ClientRequest[] = [];
  const { status = 200, body = "{}" } = reply;
  const pieces = typeof body === "string" ? [new TextEncoder().encode(body)] : body;
  const client = createClient(async (request) => {
    requests.push(request);
    return {
      status,
      headers: new Map(),
      body: (async function* () {
        yield* pieces;
      })(),
    };
  });
  return { client, requests };
}

describe("a call", () => {
  test("is sent as its endpoint says, with ids escaped and the body as JSON", async () => {
    const { client, requests } = clientOf({ body: '{"success":true,"message":""}' });
    await client.input("a/b", { text: "ls\n" });
    await client.kill("a", "SIGINT");
    await client.call(endpoints.logout);
    expect(requests).toMatchObject([
      {
        method: "POST",
        path: "/api/sessions/a%2Fb/input",
        headers: { "content-type": "application/json" },
        body: '{"text":"ls\\n"}',
      },
      { method: "POST", path: "/api/sessions/a/kill", body: '{"signal":"SIGINT"}' },
      { method: "POST", path: "/api/auth/logout", headers: {}, body: undefined },
    ]);
  });

  test("has the given members in its query, and no others", async () => {
    const { client, requests } = clientOf({ body: "$ " });
    expect(await client.screen("a", { scrollback: true })).toBe("$ ");
    await client.stream(endpoints.sessionOutput, { params: { id: "a" }, query: { from: 7 } }, never());
    await client.stream(endpoints.sessionOutput, { params: { id: "a" } }, never());
    expect(requests.map(({ path }) => path)).toEqual([
      "/api/sessions/a/text?scrollback=1&styles=0",
      "/api/sessions/a/output?from=7",
      "/api/sessions/a/output",
    ]);
  });

  test("returns the parsed body, also of a body in small pieces", async () => {
    const text = '{"success":true,"status":"exited","exitCode":3,"novelty":"é"}';
    const pieces = [...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte));
    expect(await clientOf({ body: pieces }).client.remove("a")).toEqual({
      success: true,
      status: "exited",
      exitCode: 3,
    });
  });

  test("rejects with the server's own error", async () => {
    const body = '{"error":"no session a","code":"session_not_found","details":{"id":"a"}}';
    const { client } = clientOf({ status: 404, body });
    await expect(client.get("a")).rejects.toMatchObject({
      code: "session_not_found",
      message: "no session a",
      details: { id: "a" },
    });
  });

  test.each([
    [502, "host_unreachable"],
    [401, "unauthorized"],
    [404, "not_found"],
    [429, "rate_limited"],
    [418, "internal_error"],
  ])("rejects a foreign answer with status %i", async (status, code) => {
    const { client } = clientOf({ status, body: "<html>nothing here</html>" });
    const error = await client.list().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      code,
      message: `the server answered GET /api/sessions with status ${status}`,
    });
  });

  test("rejects an answer that is too large", async () => {
    const piece = new Uint8Array(MAX_REPLY_BYTES / 8);
    const { client } = clientOf({ body: Array.from({ length: 9 }, () => piece) });
    await expect(client.list()).rejects.toMatchObject({
      code: "host_unreachable",
      message: "the answer to GET /api/sessions is too large",
    });
  });

  test("reads a foreign error only as far as one of ours could be long", async () => {
    const pieces = Array.from({ length: 1_000 }, () => new Uint8Array(1024));
    let read = 0;
    const body = (function* () {
      for (const piece of pieces) {
        read += piece.length;
        yield piece;
      }
    })();
    await expect(clientOf({ status: 401, body }).client.list()).rejects.toMatchObject({
      code: "unauthorized",
    });
    expect(read).toBe(MAX_ERROR_BODY_BYTES + 1024);
  });

  test("takes no details of an error that could not be passed on", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const body = `{"code":"session_not_running","error":"ended","details":{"deep":${deep}}}`;
    const error = await clientOf({ status: 400, body })
      .client.list()
      .catch((cause: unknown) => cause);
    expect(JSON.stringify(errorBody(error))).toContain("internal_error");
  });

  test.each(["not JSON", '[{"id":7}]'])("rejects an invalid answer: %s", async (body) => {
    await expect(clientOf({ body }).client.list()).rejects.toMatchObject({
      code: "host_unreachable",
      message: "the answer to GET /api/sessions is invalid",
    });
  });
});

test("a stream delivers pieces as they arrive, and its signal reaches the request", async () => {
  const pieces = [Uint8Array.of(1), Uint8Array.of(2)];
  const { client, requests } = clientOf({ body: pieces });
  const stop = new AbortController();
  const body = await client.recording("a", { follow: false }, stop.signal);
  expect(await Array.fromAsync(body)).toEqual(pieces);
  expect(requests[0]?.path).toBe("/api/sessions/a/recording?follow=0");
  stop.abort();
  expect(requests[0]?.signal.aborted).toBe(true);
});

test("a request for a ticket is aborted with the attempt to connect", async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const client = createClient(async ({ signal }) => {
    asked.resolve(signal);
    return await new Promise<never>(() => undefined);
  });
  const stop = new AbortController();
  const ticket = client.call(endpoints.createWsTicket, {}, stop.signal);
  const signal = await asked.promise;
  stop.abort();
  await expect(ticket).rejects.toThrow("aborted");
  expect(signal.aborted).toBe(true);
});

function never(): AbortSignal {
  return new AbortController().signal;
}
