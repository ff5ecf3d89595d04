// The key pair that a remote proves itself with, and what both sides make of it.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { type JoinRemote, joinText } from "../../protocol/schemas/join.ts";

const OWNER_ONLY = 0o600;
const Kept = z.object({ name: z.string(), privateKey: z.string() });

/** A remote's own key pair. `publicKey`: 32 bytes as base64url. */
export type RemoteKey = { readonly name: string; readonly publicKey: string; readonly privateKey: KeyObject };

/** The id of the remote that has this key: nobody has another one's id without its key. */
export function remoteIdOf(publicKey: string): string {
  return createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("hex").slice(0, 32);
}

/**
 * The key of a remote of that name: made once and kept with mode 0600. Under another name it is another machine with a key
 * of its own, so that a copied disk does not take the place of its original. `mayMake` false: `undefined` where there is none.
 */
export async function keptRemoteKey(
  path: string,
  { name, mayMake }: { readonly name: string; readonly mayMake: boolean },
): Promise<RemoteKey | undefined> {
  const kept = await readJsonFile(path, (value) => Kept.parse(value));
  if (kept?.name === name) return keyOf(name, createPrivateKey(kept.privateKey));
  if (!mayMake) return undefined;
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await writeJsonFile(path, { name, privateKey: pem }, OWNER_ONLY, { isDurable: true });
  return keyOf(name, privateKey);
}

function keyOf(name: string, privateKey: KeyObject): RemoteKey {
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  if (x === undefined) throw new ServiceError("internal_error", "the key of this remote is no Ed25519 key");
  return { name, publicKey: x, privateKey };
}

/** A request to join the HQ with that id, signed. */
export function joinRequest(
  { name, publicKey, privateKey }: RemoteKey,
  { hqId, timestamp }: { readonly hqId: string; readonly timestamp: number },
): JoinRemote {
  const request = { name, publicKey, timestamp };
  const signature = sign(undefined, Buffer.from(joinText(hqId, request)), privateKey).toString("base64url");
  return { ...request, signature };
}

/** Whether the request was signed with its key, for this HQ. */
export function isSigned(request: JoinRemote, hqId: string): boolean {
  const { publicKey, signature } = request;
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    return verify(undefined, Buffer.from(joinText(hqId, request)), key, Buffer.from(signature, "base64url"));
  } catch {
    // Bytes that are no point of the curve.
    return false;
  }
}
