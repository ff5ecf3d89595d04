import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Secret } from "../../lib/secret.ts";
import { RegisterRemote } from "../../protocol/schemas/remote.ts";
import type { Remote } from "../remote-state.ts";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A stored remote: its token is sealed, and so longer than a registered one may be. */
export const SealedRemote = RegisterRemote.extend({
  token: z.string(),
  registeredAt: z.string(),
  lastHeartbeat: z.string(),
});
export type SealedRemote = z.infer<typeof SealedRemote>;

/**
 * Encrypts the tokens of remotes for storage with a key derived from a secret (AES-256-GCM, bound to the remote's id and
 * url). A copy of the store therefore gives no access, and write access cannot redirect a token to another address.
 */
export class TokenSeal {
  readonly #key: Uint8Array;

  constructor(secret: Secret) {
    this.#key = new Uint8Array(hkdfSync("sha256", secret.bytes(), "ttyhq", "registry tokens", 32));
  }

  /** Returns a different text each time. */
  sealed<T extends Pick<Remote, "id" | "url" | "token">>(remote: T): T {
    return { ...remote, token: this.seal(boundTo(remote), remote.token) };
  }

  /** Undefined if another secret was used; the remote registers again within a minute. */
  opened<T extends Pick<Remote, "id" | "url" | "token">>(remote: T): T | undefined {
    const token = this.open(boundTo(remote), remote.token);
    return token === undefined ? undefined : { ...remote, token };
  }

  seal(id: string, text: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv).setAAD(Buffer.from(id));
    const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64");
  }

  open(id: string, text: string): string | undefined {
    const sealed = Buffer.from(text, "base64");
    const iv = sealed.subarray(0, IV_BYTES);
    const tag = sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
    const body = sealed.subarray(IV_BYTES + TAG_BYTES);
    try {
      const decipher = createDecipheriv("aes-256-gcm", this.#key, iv).setAAD(Buffer.from(id));
      decipher.setAuthTag(tag);
      return decipher.update(body, undefined, "utf8") + decipher.final("utf8");
    } catch {
      return undefined;
    }
  }
}

function boundTo({ id, url }: Pick<Remote, "id" | "url">): string {
  return JSON.stringify([id, url]);
}
