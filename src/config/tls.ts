import type { Secret } from "../lib/secret.ts";
import { OPTIONS } from "./options/options.ts";
import type { OptionReader } from "./sources/reader.ts";

/** What a server proves its name with: the certificate, with those between it and its authority, and its key, in PEM form. */
export type TlsConfig = { readonly cert: Uint8Array; readonly key: Secret };

/** `undefined`: http. */
export function readTls(reader: OptionReader): TlsConfig | undefined {
  const cert = reader.file(OPTIONS.tlsCert);
  const key = reader.file(OPTIONS.tlsKey);
  const certSource = reader.sourceOf(OPTIONS.tlsCert);
  const keySource = reader.sourceOf(OPTIONS.tlsKey);
  if (certSource !== undefined && keySource === undefined) {
    reader.refuse(`${certSource} is set without --tls-key: https needs the certificate and its key`);
  }
  if (keySource !== undefined && certSource === undefined) {
    reader.refuse(`${keySource} is set without --tls-cert: https needs the certificate and its key`);
  }
  return cert === undefined || key === undefined ? undefined : { cert, key };
}
