// The second factor of logins with a password: who needs one, what proves it, and what a user has of it.

import { createHash, randomInt } from "node:crypto";
import { isIP } from "node:net";
import { z } from "zod";
import { parseOrigin } from "../../lib/net/origin.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_PASSKEYS } from "../../protocol/limits.ts";
import {
  type Assertion,
  type NewCredential,
  Passkey,
  type PasskeyList,
  type PasskeyMade,
  type SecondFactorChallenge,
  type SecondFactorProof,
} from "../../protocol/schemas/passkey.ts";
import type { Tickets } from "../tokens/tickets.ts";
import type { FactorStore, Factors, KeptPasskey } from "./factor-store.ts";
import {
  assertionOptions,
  newCeremony,
  type RelyingParty,
  registrationOptions,
  verifiedAssertion,
  verifiedRegistration,
} from "./web-authn.ts";

/**
 * What is to be answered by whom. `party`: `undefined` where no passkey can be used, which leaves recovery codes. `isIn`:
 * asked for by somebody who is logged in, and no way to log in.
 */
export const PendingFactor = z.object({
  user: z.string(),
  party: z.object({ origin: z.string(), rpId: z.string(), challenge: z.string() }).optional(),
  isIn: z.boolean(),
});
export type PendingFactor = z.infer<typeof PendingFactor>;

export type SecondFactorOptions = {
  readonly store: FactorStore;
  /** Each is answered once. */
  readonly pending: Tickets<PendingFactor>;
  /** Each lets the user who holds it make one passkey at a login. */
  readonly enrolmentCodes: Tickets<string>;
  /** Whether users need a second factor who have not set one up. */
  readonly isRequired: boolean;
  readonly now: () => Date;
};

const FIRST_PASSKEY_NAME = "Passkey of an enrolment code";

export class SecondFactor {
  readonly #options: SecondFactorOptions;

  constructor(options: SecondFactorOptions) {
    this.#options = options;
  }

  /**
   * For a user whose password was right. Throws `second_factor_required` when it is not enough, with a
   * SecondFactorChallenge as details. `origin`: of the page that asks, which the request policy has let in.
   */
  async demand(user: string, origin: string | undefined): Promise<void> {
    const { store, pending, isRequired } = this.#options;
    const { passkeys, recovery } = await store.get(user);
    if (passkeys.length === 0 && !isRequired) return;
    const party = partyOf(origin);
    const own = passkeys.filter(({ rpId }) => rpId === party?.rpId);
    // One challenge for both: what an authenticator signs says which of them it answers.
    const ceremony = party && newCeremony(party);
    const assertion = ceremony && own.length > 0 ? await assertionOptions(ceremony, own) : undefined;
    const registration = ceremony && (await registrationOptions(ceremony, user, passkeys));
    const challengeId = await pending.issue({ user, party: ceremony, isIn: false });
    const details: SecondFactorChallenge = {
      ...{ challengeId, recoveryCodes: recovery.length },
      ...(assertion === undefined ? {} : { assertion }),
      ...(registration === undefined ? {} : { registration }),
    };
    const isNew = passkeys.length === 0;
    throw new ServiceError("second_factor_required", wordsFor(details, isNew), { details });
  }

  /** What an answer is for; once. ServiceError `unauthorized`. */
  async take(challengeId: string): Promise<PendingFactor> {
    const pending = await this.#options.pending.redeem(challengeId);
    if (pending.isIn) throw new ServiceError("unauthorized", "this challenge is for adding a passkey");
    return pending;
  }

  /** Throws `invalid_credentials` unless the proof is right. The codes come with a passkey that is made. */
  async prove(
    pending: PendingFactor,
    { assertion, registration, enrolmentCode, recoveryCode }: Omit<SecondFactorProof, "challengeId">,
  ): Promise<{ readonly recoveryCodes?: readonly string[] | undefined }> {
    if (recoveryCode !== undefined) await this.useRecoveryCode(pending.user, recoveryCode);
    else if (assertion !== undefined) await this.#useAssertion(pending, assertion);
    else if (registration !== undefined)
      return await this.#registerPasskey(pending, registration, enrolmentCode);
    else throw new ServiceError("invalid_request", "give an assertion, a registration or a recoveryCode");
    return {};
  }

  /** Throws `invalid_credentials` unless it is one that was not used yet. */
  async useRecoveryCode(user: string, code: string): Promise<void> {
    const hash = recoveryHash(code);
    await this.#change(user, (factors) => {
      if (!factors.recovery.includes(hash)) {
        throw new ServiceError("invalid_credentials", "this recovery code is wrong, or was used already");
      }
      return { ...factors, recovery: factors.recovery.filter((each) => each !== hash) };
    });
  }

  async list(user: string): Promise<PasskeyList> {
    const { passkeys, recovery } = await this.#options.store.get(user);
    const { isRequired } = this.#options;
    return {
      passkeys: passkeys.map((each) => Passkey.parse(each)),
      recoveryCodes: recovery.length,
      isRequired,
    };
  }

  /** What a browser needs to make a passkey for a user who is logged in. */
  async offer(
    user: string,
    origin: string | undefined,
  ): Promise<{ readonly challengeId: string; readonly registration: Readonly<Record<string, unknown>> }> {
    const party = partyOf(origin);
    if (party === undefined) {
      throw new ServiceError(
        "invalid_request",
        "passkeys need a page with a host name, over https or on localhost: open the server by its name",
      );
    }
    const { passkeys } = await this.#options.store.get(user);
    const ceremony = newCeremony(party);
    const registration = await registrationOptions(ceremony, user, passkeys);
    return {
      challengeId: await this.#options.pending.issue({ user, party: ceremony, isIn: true }),
      registration,
    };
  }

  /** ServiceError `unauthorized`, `invalid_credentials`, `too_many_passkeys`. */
  async add(
    user: string,
    {
      challengeId,
      name,
      registration,
    }: { readonly challengeId: string; readonly name: string; readonly registration: NewCredential },
  ): Promise<PasskeyMade> {
    const pending = await this.#options.pending.redeem(challengeId);
    if (!pending.isIn || pending.user !== user)
      throw new ServiceError("unauthorized", "this challenge is another's");
    return await this.#keep(user, await this.#made(pending, name, registration), "first");
  }

  /** With it and with their password that user makes a passkey at a login, once. */
  async newEnrolmentCode(user: string): Promise<string> {
    return await this.#options.enrolmentCodes.issue(user);
  }

  /** Throws `passkey_not_found`. The recovery codes end with the last one. */
  async remove(user: string, id: string): Promise<void> {
    await this.#change(user, ({ passkeys, recovery }) => {
      const left = passkeys.filter((passkey) => passkey.id !== id);
      if (left.length === passkeys.length)
        throw new ServiceError("passkey_not_found", "you have no such passkey");
      return { passkeys: left, recovery: left.length === 0 ? [] : recovery };
    });
  }

  /** Ten new ones in place of the old. Throws `passkey_not_found` for a user without any passkey. */
  async renewCodes(user: string): Promise<readonly string[]> {
    const codes = newRecoveryCodes();
    await this.#change(user, ({ passkeys }) => {
      if (passkeys.length === 0) throw new ServiceError("passkey_not_found", "add a passkey first");
      return { passkeys, recovery: codes.map(recoveryHash) };
    });
    return codes;
  }

  async #useAssertion({ user, party }: PendingFactor, assertion: Assertion): Promise<void> {
    await this.#change(user, async ({ passkeys, recovery }) => {
      const passkey = passkeys.find(({ id }) => id === assertion.id);
      if (passkey === undefined || party === undefined || passkey.rpId !== party.rpId) {
        throw new ServiceError("invalid_credentials", "the passkey was not accepted");
      }
      const counter = await verifiedAssertion(party, assertion, passkey);
      const used = { ...passkey, counter, lastUsedAt: this.#options.now().toISOString() };
      return { passkeys: passkeys.map((each) => (each === passkey ? used : each)), recovery };
    });
  }

  /** A passkey on the way in. The password alone makes none: whoever has stolen it must not be the first. */
  async #registerPasskey(
    pending: PendingFactor,
    registration: NewCredential,
    code: string | undefined,
  ): Promise<{ readonly recoveryCodes?: readonly string[] | undefined }> {
    const { user } = pending;
    const made = await this.#made(pending, FIRST_PASSKEY_NAME, registration);
    if (code === undefined) throw new ServiceError("invalid_credentials", enrolmentCodeNeeded(user));
    const holder = await this.#options.enrolmentCodes.redeem(code).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === "unauthorized") return undefined;
      throw error;
    });
    if (holder !== user) {
      throw new ServiceError("invalid_credentials", "this enrolment code is wrong, was used or has expired");
    }
    return await this.#keep(user, made, "always");
  }

  /** ServiceError `invalid_credentials`. */
  async #made({ party }: PendingFactor, name: string, registration: NewCredential): Promise<KeptPasskey> {
    if (party === undefined) throw new ServiceError("invalid_credentials", "the passkey was not accepted");
    const verified = await verifiedRegistration(party, registration);
    return { ...verified, name, createdAt: this.#options.now().toISOString() };
  }

  /** `newCodes`: when there are new recovery codes in place of the old. */
  async #keep(user: string, made: KeptPasskey, newCodes: "first" | "always"): Promise<PasskeyMade> {
    let codes: readonly string[] | undefined;
    await this.#change(user, ({ passkeys, recovery }) => {
      if (passkeys.length >= MAX_PASSKEYS) {
        throw new ServiceError("too_many_passkeys", `you have ${MAX_PASSKEYS} passkeys: remove one first`);
      }
      codes = newCodes === "always" || passkeys.length === 0 ? newRecoveryCodes() : undefined;
      return { passkeys: [...passkeys, made], recovery: codes?.map(recoveryHash) ?? recovery };
    });
    return { passkey: Passkey.parse(made), ...(codes === undefined ? {} : { recoveryCodes: [...codes] }) };
  }

  async #change(user: string, change: (factors: Factors) => Factors | Promise<Factors>): Promise<void> {
    await this.#options.store.change(user, change);
  }
}

/** `undefined` where WebAuthn does not work: without a page, at an address instead of a name, or without encryption. */
function partyOf(origin: string | undefined): RelyingParty | undefined {
  const url = origin === undefined || parseOrigin(origin) === undefined ? undefined : new URL(origin);
  if (url === undefined || isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0) return undefined;
  const isLocal = url.hostname === "localhost" || url.hostname.endsWith(".localhost");
  return url.protocol === "https:" || isLocal ? { origin: url.origin, rpId: url.hostname } : undefined;
}

function wordsFor({ assertion, registration }: SecondFactorChallenge, isNew: boolean): string {
  if (assertion !== undefined) return "confirm the login with your passkey or a recovery code";
  const asked = "this server asks for a second factor:";
  if (isNew && registration !== undefined) return `${asked} make a passkey with an enrolment code`;
  if (isNew) return `${asked} open its page by a host name, over https, to make a passkey`;
  return "confirm the login with a recovery code, or open the page at the address that your passkeys are for";
}

function enrolmentCodeNeeded(user: string): string {
  return `a passkey is made here with an enrolment code: ask an administrator for one (ttyhq enrolment-code ${user})`;
}

const COUNT = 10;
/** Without what is taken for something else: 0 and O, 1, I and L. */
const LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const GROUPS = 4;
const GROUP_LENGTH = 4;

export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: COUNT }, () => Array.from({ length: GROUPS }, newGroup).join("-"));
}

/** However it is typed: in small letters, with spaces or without hyphens. */
export function recoveryHash(code: string): string {
  const plain = code.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return createHash("sha256").update(`ttyhq recovery code\n${plain}`).digest("base64url");
}

function newGroup(): string {
  return Array.from({ length: GROUP_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
}
