// Key files of tests, and what reading them comes to.

import { writePem } from "../../../../src/web/login/keys/format/pem.ts";
import { readKeyFile, type WholeKey } from "../../../../src/web/login/keys/key-file.ts";

/** RFC 8410, 10.3: version 2, with attributes and the public key. */
export const WITH_ATTRIBUTES = `-----BEGIN PRIVATE KEY-----
MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB
Z9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PRIVATE KEY-----
`;

export function read(file: string): Promise<WholeKey> {
  return readKeyFile(crypto.subtle, file);
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** The bytes of a file's only block. */
export function bodyOf(file: string): Buffer {
  return Buffer.from(file.replace(/-----[A-Z ]+-----/g, ""), "base64");
}

export function opensshFile(bytes: Uint8Array): string {
  return writePem({ label: "OPENSSH PRIVATE KEY", bytes });
}
