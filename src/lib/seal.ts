import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { z } from "zod";
import { parseJson } from "../protocol/json.ts";
import type { Secret } from "./secret.ts";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts texts (AES-256-GCM). A sealed text opens under its id only: nobody can move it to another one. */
export class Seal {
  readonly #key: Uint8Array;

  constructor(secret: Secret) {
    this.#key = new Uint8Array(hkdfSync("sha256", secret.bytes(), "ttyhq", "registry tokens", 32));
  }

  /** Base64url; a different text each time. */
  seal(id: string, text: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv).setAAD(Buffer.from(id));
    const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64url");
  }

  /** Undefined if the text was sealed with another secret, under another id, or changed. */
  open(id: string, text: string): string | undefined {
    // Reads base64 as well, which earlier versions wrote.
    const sealed = Buffer.from(text, "base64url");
    const iv = sealed.subarray(0, IV_BYTES);
    const tag = sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
    const body = sealed.subarray(IV_BYTES + TAG_BYTES);
    try {
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv("aes-256-gcm", this.#key, iv, options).setAAD(Buffer.from(id));
      decipher.setAuthTag(tag);
      return decipher.update(body, undefined, "utf8") + decipher.final("utf8");
    } catch {
      return undefined;
    }
  }

  /** The value of a sealed JSON text; undefined also if it has another form, as that of another version may. */
  openJson<T>(id: string, text: string, form: z.ZodType<T>): T | undefined {
    const opened = this.open(id, text);
    return opened === undefined ? undefined : form.safeParse(parseJson(opened)).data;
  }
}
