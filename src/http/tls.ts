import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { isErrno } from "../lib/fs/atomic-file.ts";
import type { Secret } from "../lib/secret.ts";
import { errorMessage, ServiceError } from "../protocol/errors.ts";

/** A certificate with its intermediate certificates, and its key, in PEM form. */
export type TlsIdentity = {
  readonly cert: Uint8Array;
  readonly key: Secret;
  /** `undefined`: client certificates are not requested. */
  readonly clients?: ClientCertificates;
};

/** Invalid or missing client certificates are accepted unless one is required. */
export type ClientCertificates = {
  /** The only trusted authorities, in PEM form. */
  readonly ca: Uint8Array;
  readonly isRequired: boolean;
  /** Called for invalid certificates with OpenSSL's name for the reason, if one is required. */
  readonly refused?: (reason: string, address: string | undefined) => void;
};

const HANDSHAKE_TIMEOUT_MS = 10_000;

/** TLS 1.2 or newer. ServiceError `start_failed` for an unusable certificate or key. */
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

/** Whether the connection failed before HTTP, so that no answer can be sent. */
export function isHandshakeFailure({ code = "" }: NodeJS.ErrnoException): boolean {
  return code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_");
}

function reasonOf(cause: unknown): string {
  return isErrno(cause, "ERR_OSSL_X509_KEY_VALUES_MISMATCH")
    ? "the key of --tls-key is not that of the certificate of --tls-cert"
    : `--tls-cert or --tls-key holds nothing that can be used: ${errorMessage(cause)}`;
}
