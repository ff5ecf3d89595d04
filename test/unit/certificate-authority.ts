// Certificates for tests, made when they are needed, so that no key lies in the repository and none expires.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import { Secret } from "../../src/lib/secret.ts";

export type Identity = { readonly cert: Uint8Array; readonly key: Secret };

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = sequence(fromHex("06082a8648ce3d040302"));
const COMMON_NAME = fromHex("0603550403");
const BASIC_CONSTRAINTS = fromHex("0603551d13");
const SUBJECT_ALT_NAME = fromHex("0603551d11");
const CRITICAL = fromHex("0101ff");
const IS_CA = der(0x04, sequence(fromHex("0101ff")));

/** A private authority. */
export class CertificateAuthority {
  /** PEM. */
  readonly cert: Uint8Array;
  readonly #key: KeyObject;
  readonly #name: string;

  constructor(name: string) {
    const { publicKey, privateKey } = newKey();
    this.#name = name;
    this.#key = privateKey;
    const extensions = sequence(sequence(BASIC_CONSTRAINTS, CRITICAL, IS_CA));
    this.cert = this.#certify({ subject: name, publicKey, extensions, validForDays: 1 });
  }

  /** A certificate for names and IPv4 addresses; with a negative number of days it has expired. */
  issue(names: readonly string[], validForDays = 1): Identity {
    const { publicKey, privateKey } = newKey();
    const alternatives = names.map((name) =>
      isIPv4(name) ? der(0x87, Buffer.from(name.split(".").map(Number))) : der(0x82, Buffer.from(name)),
    );
    const extensions = sequence(sequence(SUBJECT_ALT_NAME, der(0x04, sequence(...alternatives))));
    const cert = this.#certify({ subject: names[0] ?? "", publicKey, extensions, validForDays });
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    return { cert, key: Secret.fromText(key) };
  }

  #certify(parts: {
    readonly subject: string;
    readonly publicKey: KeyObject;
    readonly extensions: Uint8Array;
    readonly validForDays: number;
  }): Uint8Array {
    const { subject, publicKey, extensions, validForDays } = parts;
    const end = Date.now() + validForDays * DAY_MS;
    const content = sequence(
      der(0xa0, fromHex("020102")),
      der(0x02, Buffer.concat([fromHex("01"), randomBytes(15)])),
      ECDSA_WITH_SHA256,
      nameOf(this.#name),
      sequence(time(Math.min(Date.now(), end) - DAY_MS), time(end)),
      nameOf(subject),
      publicKey.export({ type: "spki", format: "der" }),
      der(0xa3, extensions),
    );
    const signature = sign("sha256", content, this.#key);
    const bytes = sequence(content, ECDSA_WITH_SHA256, der(0x03, fromHex("00"), signature));
    const lines = Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g)
      ?.join("\n");
    return new TextEncoder().encode(`-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`);
  }
}

function newKey(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function nameOf(commonName: string): Uint8Array {
  return sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(commonName)))));
}

/** As GeneralizedTime, YYYYMMDDhhmmssZ. */
function time(ms: number): Uint8Array {
  const text = new Date(ms).toISOString().replace(/\.\d+|[-:T]/g, "");
  return der(0x18, Buffer.from(text));
}

function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return der(0x30, ...parts);
}

/** A tag, the length, and what it holds (X.690), at most 65,535 bytes. */
function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function fromHex(hex: string): Uint8Array {
  return Buffer.from(hex, "hex");
}
