// Joining an HQ (contract 10.4): a remote proves possession of a private key and gets a short-lived credential.
import { z } from "zod";
import { MAX_JOIN_TOKEN_LIFETIME_S, MIN_JOIN_TOKEN_BYTES } from "../limits.ts";
import { NewRemoteName, RemoteName } from "./remote.ts";

/** A name, or a pattern with `*` for any characters, such as `build-*`. */
export const RemoteNamePattern = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9*][A-Za-z0-9._*-]*$/, "a name of a remote, in which * stands for any characters");

/** Ed25519, as its 32 raw bytes. */
const PublicKey = z.base64url().length(43);

/** The body of POST /api/remotes/join. `signature` is over `joinText`, 64 bytes. */
export const JoinRemote = z.object({
  name: NewRemoteName,
  publicKey: PublicKey.describe("Ed25519, 32 bytes as base64url"),
  timestamp: z.int().nonnegative().describe("milliseconds since 1970"),
  signature: z.base64url().length(86).describe("Ed25519, over the text that docs/hq.md describes"),
  joinToken: z
    .string()
    .min(MIN_JOIN_TOKEN_BYTES)
    .max(4096)
    .optional()
    .describe("required until this HQ knows the key"),
});
export type JoinRemote = z.infer<typeof JoinRemote>;

/** The signed text of a join request. `hqId`: the `instanceId` of the HQ's health. */
export function joinText(
  hqId: string,
  { name, publicKey, timestamp }: Omit<JoinRemote, "signature">,
): string {
  return ["ttyhq-join", hqId, name, publicKey, timestamp].join("\n");
}

/** `token` is valid for registering, refreshing and unregistering this remote; `expiresIn` in seconds. */
export const JoinedRemote = z.object({
  remoteId: z.string(),
  token: z.string(),
  expiresIn: z.int(),
  enrolled: z.boolean().describe("whether the key is new"),
});

export const CreateJoinToken = z.object({
  name: RemoteNamePattern,
  expiresIn: z.int().min(1).max(MAX_JOIN_TOKEN_LIFETIME_S).default(900).describe("seconds"),
  reusable: z.boolean().default(false),
});
export type CreateJoinToken = z.output<typeof CreateJoinToken>;

/** A join token as listed, without the token itself. Times are ISO 8601. */
export const JoinTokenRecord = z.object({
  id: z.string(),
  name: RemoteNamePattern,
  reusable: z.boolean(),
  createdBy: z.string().optional(),
  createdAt: z.string().optional(),
  expiresAt: z.string().optional().describe("absent for the token of the HQ's options"),
});
export type JoinTokenRecord = z.infer<typeof JoinTokenRecord>;

export const NewJoinToken = JoinTokenRecord.extend({ token: z.string() });
export type NewJoinToken = z.infer<typeof NewJoinToken>;

/** The key of a remote. */
export const RemoteKeyRecord = z.object({
  name: RemoteName,
  remoteId: z.string(),
  publicKey: PublicKey,
  enrolledAt: z.string(),
  joinToken: z.string().describe("id of the token with which it was enrolled"),
});
export type RemoteKeyRecord = z.infer<typeof RemoteKeyRecord>;
