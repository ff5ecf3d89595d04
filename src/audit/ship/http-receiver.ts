import { Agent, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps, Agent as TlsAgent } from "node:https";
import type { SecureContext } from "node:tls";
import { ServiceError } from "../../protocol/errors.ts";
import type { AuditReceiver } from "./shipper.ts";

const DELIVERY_TIMEOUT_MS = 10_000;

export type HttpTarget = {
  readonly url: string;
  /** In addition to those of the request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: { readonly secureContext?: SecureContext };
};

/** Posts JSON lines. 2xx accepts all of them; any other status, redirects included, none. */
export function httpReceiver({ url, headers, tls }: HttpTarget): AuditReceiver {
  const { protocol, host } = new URL(url);
  const isTls = protocol === "https:";
  const agent = isTls ? new TlsAgent({ keepAlive: true, ...tls }) : new Agent({ keepAlive: true });
  const own = { "content-type": "application/x-ndjson", ...headers };
  return {
    name: `${protocol}//${host}`,
    deliver: async (lines) => {
      const body = Buffer.from(lines.join(""));
      const options = { method: "POST", agent, headers: { ...own, "content-length": body.length } };
      const status = await statusOf(url, options, body);
      if (status >= 200 && status <= 299) return lines.length;
      throw new ServiceError("remote_unreachable", `the receiver answered ${status}`);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function statusOf(url: string, options: RequestOptions, body: Uint8Array): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const make = url.startsWith("https:") ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(DELIVERY_TIMEOUT_MS);
  const outgoing = make(url, { ...options, signal });
  outgoing.once("error", reject);
  outgoing.once("response", (response) => {
    response.once("error", reject);
    // Reads the answer so that the connection can be reused.
    response.once("end", () => resolve(response.statusCode ?? 500));
    response.resume();
  });
  outgoing.end(body);
  return promise;
}
