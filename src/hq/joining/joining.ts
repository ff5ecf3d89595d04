// Decides which servers may be remotes of this HQ (contract 10.4): join tokens enroll public keys, which then prove a remote.
import { createHash, randomBytes } from "node:crypto";
import type { Seal } from "../../lib/seal.ts";
import type { Secret } from "../../lib/secret.ts";
import { fitsWildcard } from "../../lib/wildcard.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_JOIN_CLOCK_SKEW_MS, MAX_JOIN_TOKENS, MAX_REMOTE_KEYS } from "../../protocol/limits.ts";
import {
  type CreateJoinToken,
  type JoinRemote,
  JoinTokenRecord,
  type NewJoinToken,
  RemoteKeyRecord,
} from "../../protocol/schemas/join.ts";
import { type Entry, SealedTable, type TableChange, type Tables } from "../registry/tables.ts";
import { isSigned, remoteIdOf } from "./remote-key.ts";

const TOKEN_BYTES = 32;
/** Length of the prefix of a token's hash that identifies it among MAX_JOIN_TOKENS. */
const TOKEN_ID_LENGTH = 12;
/** Limit for attempts at a change while others change the same entries. */
const MAX_TRIES = 8;

/** The remote that a credential is for. */
export type JoinedRemoteName = { readonly id: string; readonly name: string };

/** A reusable token from the HQ's options, for names that match `name`. */
export type ConfiguredJoinToken = { readonly secret: Secret; readonly name: string };

export type JoiningOptions = {
  readonly tables: Tables;
  readonly seal: Seal;
  readonly configured: ConfiguredJoinToken | undefined;
  readonly hqId: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** A token that enrolls a key, with the changes of the store that this requires. */
type Admission = { readonly token: JoinTokenRecord; readonly changes: readonly TableChange[] };

/**
 * Tokens are stored as hashes. A token enrolls one key, or several if it is reusable. A token for one name replaces the key
 * of that name. A token with a pattern enrolls only names without a key, so that no remote can take over another one.
 */
export class Joining {
  readonly #options: JoiningOptions;
  /** By hash. */
  readonly #tokens: SealedTable<JoinTokenRecord>;
  /** By name of the remote. */
  readonly #keys: SealedTable<RemoteKeyRecord>;

  constructor(options: JoiningOptions) {
    const { tables, seal } = options;
    this.#options = options;
    this.#tokens = new SealedTable(tables, seal, "tokens", JoinTokenRecord);
    this.#keys = new SealedTable(tables, seal, "keys", RemoteKeyRecord);
  }

  /** Checks the proof, and enrolls an unknown key if a token allows it. Throws `join_refused`, `remote_name_taken`. */
  async join(request: JoinRemote): Promise<JoinedRemoteName & { readonly enrolled: boolean }> {
    const { name, publicKey } = request;
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const known = await this.#keys.get(name);
      const isKnown = known?.value.publicKey === publicKey;
      const admission = isKnown ? undefined : await this.#admission(request, known !== undefined);
      this.#checkProof(request);
      const remote = { id: remoteIdOf(publicKey), name };
      if (admission === undefined) return { ...remote, enrolled: false };
      if (await this.#enroll(remote, publicKey, { known, admission })) return { ...remote, enrolled: true };
    }
    throw new ServiceError("join_refused", `other requests enroll ${name} at the same time: try again`);
  }

  /** Whether the key of a credential is still enrolled. While the store is unreachable, the credential counts until it expires. */
  async isKnown({ id, name }: JoinedRemoteName): Promise<boolean> {
    try {
      return (await this.#keys.get(name))?.value.remoteId === id;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "registry_unavailable") return true;
      throw error;
    }
  }

  /** Throws `too_many_join_tokens`. */
  async createToken(
    { name, expiresIn, reusable }: CreateJoinToken,
    createdBy: string | undefined,
  ): Promise<NewJoinToken> {
    const tokens = await this.#validTokens();
    if (tokens.size >= MAX_JOIN_TOKENS) {
      const message = `there are ${MAX_JOIN_TOKENS} join tokens: revoke some first`;
      throw new ServiceError("too_many_join_tokens", message);
    }
    const now = this.#options.now();
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const hash = hashOf(token);
    const createdAt = new Date(now).toISOString();
    const expiresAt = new Date(now + expiresIn * 1000).toISOString();
    const record = { id: idOf(hash), name, reusable, createdBy, createdAt, expiresAt };
    await this.#options.tables.commit([this.#tokens.change(hash, undefined, record)]);
    return { ...record, token };
  }

  /** The valid tokens, the configured one first. */
  async tokens(): Promise<readonly JoinTokenRecord[]> {
    const { configured } = this.#options;
    const own = configured === undefined ? [] : [recordOf(configured)];
    return [...own, ...[...(await this.#validTokens()).values()].map(({ value }) => value)];
  }

  /** Throws `join_token_not_found`. */
  async revokeToken(tokenId: string): Promise<void> {
    const { configured, tables } = this.#options;
    for (const [hash, { text, value }] of await this.#validTokens()) {
      if (value.id !== tokenId) continue;
      await tables.commit([this.#tokens.change(hash, text, undefined)]);
      return;
    }
    const isConfigured = configured !== undefined && recordOf(configured).id === tokenId;
    throw new ServiceError(
      "join_token_not_found",
      isConfigured
        ? `the HQ was started with the join token ${tokenId}: start it without --join-token-file to end it`
        : `no join token ${tokenId}`,
    );
  }

  async keys(): Promise<readonly RemoteKeyRecord[]> {
    return [...(await this.#keys.all()).values()].map(({ value }) => value);
  }

  /** The remote needs a token to join again. Throws `remote_not_found`. */
  async revokeKey(name: string): Promise<void> {
    const { tables } = this.#options;
    // Another key may take its place meanwhile.
    for (;;) {
      const text = await tables.get("keys", name);
      if (text === undefined) throw new ServiceError("remote_not_found", `no key of a remote ${name}`);
      if (await tables.commit([this.#keys.change(name, text, undefined)])) return;
    }
  }

  #checkProof(request: JoinRemote): void {
    const { hqId, now } = this.#options;
    const skewMs = Math.abs(now() - request.timestamp);
    if (skewMs > MAX_JOIN_CLOCK_SKEW_MS) {
      const seconds = Math.round(skewMs / 1000);
      throw refused(`the clocks of HQ and remote differ by ${seconds} s: synchronize them`);
    }
    if (!isSigned(request, hqId()))
      throw refused("the signature does not match the key, or is for another HQ");
  }

  async #admission({ name, joinToken }: JoinRemote, isTaken: boolean): Promise<Admission> {
    if (joinToken === undefined) {
      throw refused(
        `this HQ does not know the key of ${name}: start the remote with --join-token-file, and a token of \`ttyhq join-token create --name ${name}\``,
      );
    }
    const admission = await this.#redeemable(joinToken);
    if (admission === undefined || !fitsWildcard(name, admission.token.name)) {
      throw refused(
        `the join token is unknown, used up, expired or for another name than ${name}: make one with \`ttyhq join-token create --name ${name}\``,
      );
    }
    if (isTaken && admission.token.name !== name) {
      throw new ServiceError(
        "remote_name_taken",
        `the name ${name} belongs to another key: if that machine is gone, \`ttyhq remote-key revoke ${name}\` at the HQ`,
      );
    }
    return admission;
  }

  async #redeemable(joinToken: string): Promise<Admission | undefined> {
    const { configured, now } = this.#options;
    const hash = hashOf(joinToken);
    // Only hashes are compared, so the time that this takes reveals nothing about the token.
    if (configured !== undefined && hash === hashOf(configured.secret.bytes())) {
      return { token: recordOf(configured), changes: [] };
    }
    const entry = await this.#tokens.get(hash);
    if (entry === undefined || isExpired(entry.value, now())) return undefined;
    const { text: before, value } = entry;
    // An unchanged reusable token only has to be there: others may use it at the same time.
    const after = value.reusable ? before : undefined;
    return { token: value, changes: [{ table: "tokens", id: hash, before, after }] };
  }

  async #enroll(
    { id: remoteId, name }: JoinedRemoteName,
    publicKey: string,
    from: { readonly known: Entry<RemoteKeyRecord> | undefined; readonly admission: Admission },
  ): Promise<boolean> {
    const { tables, now } = this.#options;
    const { known, admission } = from;
    if (known === undefined && (await tables.all("keys")).size >= MAX_REMOTE_KEYS) {
      throw refused(`this HQ has ${MAX_REMOTE_KEYS} keys of remotes: revoke some first`);
    }
    const enrolledAt = new Date(now()).toISOString();
    const key = { name, remoteId, publicKey, enrolledAt, joinToken: admission.token.id };
    return await tables.commit([this.#keys.change(name, known?.text, key), ...admission.changes]);
  }

  /** By hash. Removes expired tokens. */
  async #validTokens(): Promise<ReadonlyMap<string, Entry<JoinTokenRecord>>> {
    const { tables, now } = this.#options;
    const tokens = new Map<string, Entry<JoinTokenRecord>>();
    for (const [hash, text] of await tables.all("tokens")) {
      const value = this.#tokens.open(hash, text);
      if (value !== undefined && !isExpired(value, now())) tokens.set(hash, { text, value });
      else await tables.commit([this.#tokens.change(hash, text, undefined)]);
    }
    return tokens;
  }
}

function recordOf({ secret, name }: ConfiguredJoinToken): JoinTokenRecord {
  return { id: idOf(hashOf(secret.bytes())), name, reusable: true };
}

function isExpired({ expiresAt }: JoinTokenRecord, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

function hashOf(token: string | Uint8Array): string {
  return createHash("sha256").update(token).digest("hex");
}

function idOf(hash: string): string {
  return hash.slice(0, TOKEN_ID_LENGTH);
}

function refused(message: string): ServiceError {
  return new ServiceError("join_refused", message);
}
