// A hub with its own /ws in this process, with sessions in memory.
import type { RequestListener } from "node:http";
import { chain, everyoneIs, neverOver } from "../../../src/auth/chain.ts";
import { connectionOf } from "../../../src/http/client-address.ts";
import { Listener } from "../../../src/http/listener.ts";
import { createUpgrade } from "../../../src/http/upgrade.ts";
import { Hub } from "../../../src/hub/hub.ts";
import { createLogger } from "../../../src/log.ts";
import type { Identity } from "../../unit/certificate-authority.ts";
import { MemorySessions } from "../../unit/hub/memory-sessions.ts";

export type HubServerOptions = {
  readonly host?: string;
  /** HTTPS, with this certificate. */
  readonly tls?: Identity | undefined;
  /** Answers requests. */
  readonly request?: RequestListener;
  readonly pingIntervalMs?: number;
};

/** A server of the hub that requires no login. */
export async function serveHub(options: HubServerOptions = {}) {
  const { host = "127.0.0.1", tls, request = () => {}, ...timing } = options;
  const hub = new Hub({ backend: new MemorySessions(), now: () => performance.now(), ...timing });
  const upgrade = createUpgrade({
    hub,
    log: createLogger({ level: "silent", destination: { write: () => true } }),
    authenticate: chain([everyoneIs("me", "socket")]),
    whenOver: neverOver,
    clientOf: connectionOf,
    viewOf: undefined,
    policy: undefined,
  });
  const listener = await Listener.open({ host, port: 0 }, { request, upgrade }, tls);
  const address = host.includes(":") ? `[${host}]` : host;
  return {
    hub,
    port: listener.port,
    url: `${tls === undefined ? "http" : "https"}://${address}:${listener.port}`,
    [Symbol.asyncDispose]: async () => {
      await listener[Symbol.asyncDispose]();
      hub[Symbol.dispose]();
    },
  };
}
