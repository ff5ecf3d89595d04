import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { joinedSender } from "../../../src/hq/joining/joined-send.ts";
import { isSigned, type RemoteKey } from "../../../src/hq/joining/remote-key.ts";
import { Secret } from "../../../src/lib/secret.ts";
import type { ClientRequest, ClientResponse, Send } from "../../../src/protocol/client/send.ts";
import { JoinRemote } from "../../../src/protocol/schemas/join.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const KEY: RemoteKey = {
  name: "build-1",
  publicKey: publicKey.export({ format: "jwk" }).x ?? "",
  privateKey,
};
const HEALTH = {
  ...{ status: "healthy", uptime: 1, version: "0", sessions: 0, mode: "hq", instanceId: "hq-1", pid: 1 },
  ...{ protocol: 1, timestamp: "2026-01-01T00:00:00.000Z" },
};

/** An HQ as far as joining goes; it takes the last credential that it gave, until it is told to take none. */
class Hq {
  readonly joins: JoinRemote[] = [];
  readonly asked: string[] = [];
  isForgetful = false;

  readonly send: Send = async ({ path, body, headers }) => {
    if (path === "/api/health") return answer(200, HEALTH);
    if (path === "/api/remotes/join") {
      this.joins.push(JoinRemote.parse(JSON.parse(body ?? "")));
      this.isForgetful = false;
      const token = `credential-${this.joins.length}`;
      return answer(200, { token, expiresIn: 1200, remoteId: "id", enrolled: false });
    }
    this.asked.push(headers.authorization ?? "nothing");
    return this.isForgetful ? answer(403, { error: "revoked", code: "forbidden" }) : answer(200, {});
  };
}

function answer(status: number, body: object): ClientResponse {
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(JSON.stringify(body));
  };
  return { status, headers: new Map(), body: bytes() };
}

const request = (path: string): ClientRequest => ({
  ...{ method: "POST", path, headers: {}, body: "{}", signal: new AbortController().signal },
});
const remoteOf = (hq: Hq, joinToken?: Secret): Send =>
  joinedSender({ send: hq.send, key: KEY, joinToken, now: () => 1_000 }).send;

test("concurrent requests share one credential, whose proof is for this HQ", async () => {
  const hq = new Hq();
  const send = remoteOf(hq, Secret.fromText("a join token of at least 32 bytes"));
  await Promise.all([send(request("/a")), send(request("/b"))]);
  await send(request("/c"));
  expect(hq.asked).toEqual(["Bearer credential-1", "Bearer credential-1", "Bearer credential-1"]);
  const [join, ...others] = hq.joins;
  expect(others).toEqual([]);
  expect(join).toMatchObject({
    name: "build-1",
    timestamp: 1_000,
    joinToken: "a join token of at least 32 bytes",
  });
  expect(join && isSigned(join, "hq-1")).toBe(true);
  expect(join && isSigned(join, "hq-2")).toBe(false);
});

test("after a refused credential the remote joins again, once for each request", async () => {
  const hq = new Hq();
  const send = remoteOf(hq);
  await send(request("/a"));
  hq.isForgetful = true;
  expect((await send(request("/b"))).status).toBe(200);
  expect(hq.asked).toEqual(["Bearer credential-1", "Bearer credential-1", "Bearer credential-2"]);
  expect(hq.joins[1]).not.toHaveProperty("joinToken");
});

test("the request for the HQ's health carries no credential", async () => {
  const hq = new Hq();
  expect((await remoteOf(hq)(request("/api/health"))).status).toBe(200);
  expect(hq.joins).toEqual([]);
});
