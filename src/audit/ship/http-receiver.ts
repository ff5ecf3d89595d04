import { collectBytes } from "../../lib/data/collect.ts";
import { outsideTraces } from "../../lib/trace.ts";
import type { Send } from "../../protocol/client/send.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { AuditReceiver } from "./shipper.ts";

const DELIVERY_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

type HttpTarget = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Has connections to the origin of `url`. */
  readonly sender: Disposable & { readonly send: Send };
};

/** Posts JSON lines. 2xx accepts all of them; any other status, redirects included, none. */
export function httpReceiver({ url, headers, sender }: HttpTarget): AuditReceiver {
  const { protocol, host, pathname, search } = new URL(url);
  const request = { method: "POST", path: `${pathname}${search}` } as const;
  const own = { "content-type": "application/x-ndjson", ...headers };
  return {
    name: `${protocol}//${host}`,
    deliver: async (lines) => {
      const signal = AbortSignal.timeout(DELIVERY_TIMEOUT_MS);
      const posted = { ...request, headers: own, body: lines.join(""), signal };
      const { status, body } = await outsideTraces(() => sender.send(posted));
      // A connection whose answer was read can be used again.
      await collectBytes(body, MAX_ANSWER_BYTES).catch(() => undefined);
      if (status >= 200 && status <= 299) return lines.length;
      throw new ServiceError("remote_unreachable", `the receiver answered ${status}`);
    },
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  };
}
