import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { Secret } from "../lib/secret.ts";
import { ServiceError } from "../protocol/errors.ts";

/** What a server proves its name with: the certificate, with those between it and its authority, and its key, in PEM form. */
export type TlsIdentity = { readonly cert: Uint8Array; readonly key: Secret };

/** A connection whose handshake is not done by then is slow on purpose or gone. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** An HTTPS server, TLS 1.2 or newer. Throws `start_failed` for a pair that cannot be served. */
export function createHttpsServer({ cert, key }: TlsIdentity, options: object): TlsServer {
  try {
    return createTlsServer({
      ...options,
      cert: Buffer.from(cert),
      key: Buffer.from(key.bytes()),
      minVersion: "TLSv1.2",
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    });
  } catch (cause) {
    throw new ServiceError("start_failed", `cannot serve https: ${reasonOf(cause)}`, { cause });
  }
}

/** Whether a connection failed before there was any HTTP on it: there is nobody to be answered. */
export function isHandshakeFailure({ code = "" }: NodeJS.ErrnoException): boolean {
  return code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_");
}

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH") {
    return "the key of --tls-key is not that of the certificate of --tls-cert";
  }
  const detail = cause instanceof Error ? cause.message : String(cause);
  return `--tls-cert or --tls-key holds nothing that can be used: ${detail}`;
}
