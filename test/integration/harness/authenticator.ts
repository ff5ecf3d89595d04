// An authenticator in software: creates passkeys (P-256, without attestation) and answers challenges with them.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { z } from "zod";
import type { Assertion, NewCredential } from "../../../src/protocol/schemas/passkey.ts";

/** Both kinds of options; `rp` is that of a registration. */
const Options = z.object({
  challenge: z.string(),
  rpId: z.string().optional(),
  rp: z.object({ id: z.string() }).optional(),
});

const IS_PRESENT_AND_VERIFIED = 0x05;
const HAS_CREDENTIAL = 0x40;

export class Authenticator {
  readonly #origin: string;
  readonly #id = randomBytes(32);
  readonly #key: KeyObject;
  readonly #point: { readonly x: Buffer; readonly y: Buffer };
  /** The next signature counter; a copy of the device continues with an old one. */
  counter = 1;

  /** `origin`: of the page that uses it. */
  constructor(origin: string) {
    this.#origin = origin;
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { x = "", y = "" } = publicKey.export({ format: "jwk" });
    this.#key = privateKey;
    this.#point = { x: Buffer.from(x, "base64url"), y: Buffer.from(y, "base64url") };
  }

  create(options: unknown): NewCredential {
    const { challenge, rp } = Options.parse(options);
    const size = Buffer.alloc(2);
    size.writeUInt16BE(this.#id.length);
    // A CBOR map: kty EC2, alg ES256, crv P-256, x, y.
    const key = Buffer.concat([
      Buffer.from("a5010203262001215820", "hex"),
      this.#point.x,
      Buffer.from("225820", "hex"),
      this.#point.y,
    ]);
    const data = Buffer.concat([
      this.#head(rp?.id ?? "", IS_PRESENT_AND_VERIFIED | HAS_CREDENTIAL),
      ...[Buffer.alloc(16), size, this.#id, key],
    ]);
    const attestation = Buffer.concat([
      Buffer.from([0xa3, ...text("fmt"), ...text("none"), ...text("attStmt"), 0xa0, ...text("authData")]),
      Buffer.from([0x58, data.length]),
      data,
    ]);
    const response = {
      clientDataJSON: encoded(this.#clientData("webauthn.create", challenge)),
      attestationObject: encoded(attestation),
      transports: ["internal"],
    };
    return { ...this.#names(), response };
  }

  get(options: unknown): Assertion {
    const { challenge, rpId = "" } = Options.parse(options);
    const clientData = this.#clientData("webauthn.get", challenge);
    const data = this.#head(rpId, IS_PRESENT_AND_VERIFIED);
    const signed = Buffer.concat([data, createHash("sha256").update(clientData).digest()]);
    const response = {
      clientDataJSON: encoded(clientData),
      authenticatorData: encoded(data),
      signature: encoded(sign("sha256", signed, this.#key)),
    };
    return { ...this.#names(), response };
  }

  #names(): { readonly id: string; readonly rawId: string; readonly type: "public-key" } {
    return { id: encoded(this.#id), rawId: encoded(this.#id), type: "public-key" };
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }));
  }

  #head(rpId: string, flags: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter++);
    return Buffer.concat([createHash("sha256").update(rpId).digest(), Buffer.from([flags]), counter]);
  }
}

/** A CBOR text of at most 23 bytes. */
function text(value: string): readonly number[] {
  return [0x60 + value.length, ...Buffer.from(value)];
}

function encoded(bytes: Buffer): string {
  return bytes.toString("base64url");
}
