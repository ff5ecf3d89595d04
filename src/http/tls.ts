import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { Secret } from "../lib/secret.ts";
import { ServiceError } from "../protocol/errors.ts";

/** What a server proves its name with: the certificate, with those between it and its authority, and its key, in PEM form. */
export type TlsIdentity = {
  readonly cert: Uint8Array;
  readonly key: Secret;
  /** Who may come; `undefined`: everybody. */
  readonly clients?: ClientCertificates;
};

/** Certificates that clients show; who shows none, or one that is not good, is let in unless it is required. */
export type ClientCertificates = {
  /** The authorities, and no others, in PEM form. */
  readonly ca: Uint8Array;
  readonly isRequired: boolean;
  /** Told of one that was shown and is not good, with OpenSSL's name for the reason, where one is required. */
  readonly refused?: (reason: string, address: string | undefined) => void;
};

/** A connection whose handshake is not done by then is slow on purpose or gone. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** An HTTPS server, TLS 1.2 or newer. Throws `start_failed` for a pair that cannot be served. */
export function createHttpsServer({ cert, key, clients }: TlsIdentity, options: object): TlsServer {
  try {
    const server = createTlsServer({
      ...options,
      cert: Buffer.from(cert),
      key: Buffer.from(key.bytes()),
      minVersion: "TLSv1.2",
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      ...(clients === undefined
        ? {}
        : { ca: Buffer.from(clients.ca), requestCert: true, rejectUnauthorized: clients.isRequired }),
    });
    server.on("tlsClientError", (_, { authorizationError: reason, remoteAddress }) => {
      if (typeof reason === "string") clients?.refused?.(reason, remoteAddress);
    });
    return server;
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
