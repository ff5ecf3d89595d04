// The identity of a remote: its stored id, or the key pair whose signatures prove it.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from "node:crypto";
import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { type JoinRemote, joinText } from "../../protocol/schemas/join.ts";

const OWNER_ONLY = 0o600;
const StoredKey = z.object({ name: z.string(), privateKey: z.string() });
const StoredId = z.object({ id: z.uuid(), name: z.string() });

/** A remote's own key pair. `publicKey`: 32 bytes as base64url. */
export type RemoteKey = { readonly name: string; readonly publicKey: string; readonly privateKey: KeyObject };

/** The id of the remote with this key. Without the key, another remote cannot take the id. */
export function remoteIdOf(publicKey: string): string {
  return createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("hex").slice(0, 32);
}

/**
 * The stored key of a remote, created at its first start with mode 0600. The key belongs to the name: under another name the
 * remote gets another key, so a copied disk does not replace its original. `mayMake` false: `undefined` if there is none.
 */
export async function keptRemoteKey(
  path: string,
  { name, mayMake }: { readonly name: string; readonly mayMake: boolean },
): Promise<RemoteKey | undefined> {
  const kept = await readJsonFile(path, (value) => StoredKey.parse(value));
  if (kept?.name === name) return keyOf(name, createPrivateKey(kept.privateKey));
  if (!mayMake) return undefined;
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await writeJsonFile(path, { name, privateKey: pem }, OWNER_ONLY);
  return keyOf(name, privateKey);
}

function keyOf(name: string, privateKey: KeyObject): RemoteKey {
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  if (x === undefined)
    throw new ServiceError("internal_error", "the key of this remote is not an Ed25519 key");
  return { name, publicKey: x, privateKey };
}

/** A signed request to join the HQ with that id. */
export function joinRequest(
  { name, publicKey, privateKey }: RemoteKey,
  { hqId, timestamp }: { readonly hqId: string; readonly timestamp: number },
): JoinRemote {
  const request = { name, publicKey, timestamp };
  const signature = sign(undefined, Buffer.from(joinText(hqId, request)), privateKey).toString("base64url");
  return { ...request, signature };
}

/** Whether the request carries a signature by its own key for this HQ. */
export function isSigned(request: JoinRemote, hqId: string): boolean {
  const { publicKey, signature } = request;
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    return verify(undefined, Buffer.from(joinText(hqId, request)), key, Buffer.from(signature, "base64url"));
  } catch {
    // The bytes are not a point of the curve.
    return false;
  }
}

/** The stored id of a remote that proves itself by a password. Like the key, it belongs to the name. */
export async function keptRemoteId(path: string, name: string): Promise<string> {
  const kept = await readJsonFile(path, (value) => StoredId.parse(value));
  if (kept?.name === name) return kept.id;
  const id = randomUUID();
  await writeJsonFile(path, { id, name }, OWNER_ONLY);
  return id;
}
