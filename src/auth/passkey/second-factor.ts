// The second factor of password logins.
import { createHash, randomBytes, randomInt } from "node:crypto";
import { isIP } from "node:net";
import { z } from "zod";
import { urlHost } from "../../lib/net/address.ts";
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
import type { FactorStore, KeptPasskey } from "./factor-store.ts";
import {
  assertionOptions,
  type Ceremony,
  registrationOptions,
  verifiedAssertion,
  verifiedRegistration,
} from "./web-authn.ts";

/**
 * `party`: `undefined` if no passkey can be used, only recovery codes. `isIn`: requested by a logged-in user to add a
 * passkey, so that it is not valid for a login.
 */
export const PendingFactor = z.object({
  user: z.string(),
  party: z.object({ origin: z.string(), rpId: z.string(), challenge: z.string() }).optional(),
  isIn: z.boolean(),
});
export type PendingFactor = z.infer<typeof PendingFactor>;

type SecondFactorOptions = {
  readonly store: FactorStore;
  readonly pending: Tickets<PendingFactor>;
  /** Each allows its holder to create one passkey during a login. */
  readonly enrolmentCodes: Tickets<string>;
  /** Whether users without a passkey must create one. */
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
   * For a user whose password was correct: ServiceError `second_factor_required` with a SecondFactorChallenge if that
   * is not enough. `origin`: the page's, which the request policy has allowed.
   */
  async demand(user: string, origin: string | undefined): Promise<void> {
    const { store, pending, isRequired } = this.#options;
    const { passkeys, recovery } = await store.get(user);
    if (passkeys.length === 0 && !isRequired) return;
    const ceremony = newCeremony(origin);
    const own = passkeys.filter(({ rpId }) => rpId === ceremony?.rpId);
    // One challenge for both; the authenticator's answer says which of them it is for.
    const assertion = ceremony && own.length > 0 ? await assertionOptions(ceremony, own) : undefined;
    const registration = ceremony && (await registrationOptions(ceremony, user, passkeys));
    const challengeId = await pending.issue({ user, party: ceremony, isIn: false });
    const details = { challengeId, assertion, registration, recoveryCodes: recovery.length };
    throw new ServiceError("second_factor_required", wordsFor(details, passkeys.length === 0), { details });
  }

  /** A challenge of a login can be taken once. `undefined`: unknown, taken, expired, or for adding a passkey. */
  async take(challengeId: string): Promise<PendingFactor | undefined> {
    const pending = await this.#options.pending.take(challengeId);
    return pending?.isIn === true ? undefined : pending;
  }

  /** Throws `invalid_credentials` for a wrong proof. Resolves with new recovery codes for a proof that creates a passkey. */
  async prove(
    pending: PendingFactor,
    { assertion, registration, enrolmentCode, recoveryCode }: Omit<SecondFactorProof, "challengeId">,
  ): Promise<string[] | undefined> {
    if (recoveryCode !== undefined) await this.useRecoveryCode(pending.user, recoveryCode);
    else if (assertion !== undefined) await this.#useAssertion(pending, assertion);
    else if (registration !== undefined)
      return await this.#registerPasskey(pending, registration, enrolmentCode);
    else throw new ServiceError("invalid_request", "give an assertion, a registration or a recoveryCode");
    return undefined;
  }

  /** ServiceError `invalid_credentials` for a wrong or used code. */
  async useRecoveryCode(user: string, code: string): Promise<void> {
    const hash = recoveryHash(code);
    await this.#options.store.change(user, (factors) => {
      if (!factors.recovery.includes(hash)) {
        throw new ServiceError("invalid_credentials", "this recovery code is wrong, or was used already");
      }
      return { ...factors, recovery: factors.recovery.filter((each) => each !== hash) };
    });
  }

  async list(user: string): Promise<PasskeyList> {
    const { store, isRequired } = this.#options;
    const { passkeys: kept, recovery } = await store.get(user);
    const passkeys = kept.map((each) => Passkey.parse(each));
    return { passkeys, recoveryCodes: recovery.length, isRequired };
  }

  /** The options with which a logged-in user's browser creates a passkey. */
  async offer(
    user: string,
    origin: string | undefined,
  ): Promise<{ readonly challengeId: string; readonly registration: Readonly<Record<string, unknown>> }> {
    const { store, pending } = this.#options;
    const party = newCeremony(origin);
    if (party === undefined) {
      const message = "passkeys need a host name, and https or localhost: open the server by its name";
      throw new ServiceError("invalid_request", message);
    }
    const { passkeys } = await store.get(user);
    const registration = await registrationOptions(party, user, passkeys);
    const challengeId = await pending.issue({ user, party, isIn: true });
    return { challengeId, registration };
  }

  /** ServiceError `unauthorized`, `invalid_credentials`, `too_many_passkeys`. */
  async add(
    user: string,
    passkey: { readonly challengeId: string; readonly name: string; readonly registration: NewCredential },
  ): Promise<PasskeyMade> {
    const { challengeId, name, registration } = passkey;
    const pending = await this.#options.pending.redeem(challengeId);
    if (!pending.isIn || pending.user !== user)
      throw new ServiceError("unauthorized", "this challenge is for another user or a login");
    return await this.#keep(user, await this.#made(pending, name, registration), "first");
  }

  /** With this code and the password the user can create one passkey during a login. */
  async newEnrolmentCode(user: string): Promise<string> {
    return await this.#options.enrolmentCodes.issue(user);
  }

  /** ServiceError `passkey_not_found`. Removing the last passkey removes the recovery codes. */
  async remove(user: string, id: string): Promise<void> {
    await this.#options.store.change(user, ({ passkeys, recovery }) => {
      const left = passkeys.filter((passkey) => passkey.id !== id);
      if (left.length === passkeys.length)
        throw new ServiceError("passkey_not_found", "you have no such passkey");
      return { passkeys: left, recovery: left.length === 0 ? [] : recovery };
    });
  }

  /** Replaces the recovery codes. ServiceError `passkey_not_found` for a user without passkeys. */
  async renewCodes(user: string): Promise<string[]> {
    const codes = newRecoveryCodes();
    await this.#options.store.change(user, ({ passkeys }) => {
      if (passkeys.length === 0) throw new ServiceError("passkey_not_found", "add a passkey first");
      return { passkeys, recovery: codes.map(recoveryHash) };
    });
    return codes;
  }

  async #useAssertion({ user, party }: PendingFactor, assertion: Assertion): Promise<void> {
    await this.#options.store.change(user, async ({ passkeys, recovery }) => {
      const passkey = passkeys.find(({ id }) => id === assertion.id);
      if (passkey === undefined || party === undefined || passkey.rpId !== party.rpId) {
        throw new ServiceError("invalid_credentials", "the passkey was not accepted");
      }
      const counter = await verifiedAssertion(party, assertion, passkey);
      const used = { ...passkey, counter, lastUsedAt: this.#options.now().toISOString() };
      return { passkeys: passkeys.map((each) => (each === passkey ? used : each)), recovery };
    });
  }

  /** Creates a passkey during a login. The password alone does not allow that, because it may be stolen. */
  async #registerPasskey(
    pending: PendingFactor,
    registration: NewCredential,
    code: string | undefined,
  ): Promise<string[] | undefined> {
    const { user } = pending;
    const made = await this.#made(pending, FIRST_PASSKEY_NAME, registration);
    if (code === undefined) {
      const way = `ask an administrator for one (ttyhq enrolment-code ${user})`;
      throw new ServiceError("invalid_credentials", `a new passkey needs an enrolment code: ${way}`);
    }
    const holder = await this.#options.enrolmentCodes.take(code);
    if (holder !== user) {
      throw new ServiceError("invalid_credentials", "this enrolment code is wrong, was used or has expired");
    }
    return (await this.#keep(user, made, "always")).recoveryCodes;
  }

  /** ServiceError `invalid_credentials`. */
  async #made({ party }: PendingFactor, name: string, registration: NewCredential): Promise<KeptPasskey> {
    if (party === undefined) throw new ServiceError("invalid_credentials", "the passkey was not accepted");
    const verified = await verifiedRegistration(party, registration);
    return { ...verified, name, createdAt: this.#options.now().toISOString() };
  }

  /** `newCodes`: when the recovery codes are replaced. */
  async #keep(user: string, made: KeptPasskey, newCodes: "first" | "always"): Promise<PasskeyMade> {
    let codes: string[] | undefined;
    await this.#options.store.change(user, ({ passkeys, recovery }) => {
      if (passkeys.length >= MAX_PASSKEYS) {
        throw new ServiceError("too_many_passkeys", `you have ${MAX_PASSKEYS} passkeys: remove one first`);
      }
      codes = newCodes === "always" || passkeys.length === 0 ? newRecoveryCodes() : undefined;
      return { passkeys: [...passkeys, made], recovery: codes?.map(recoveryHash) ?? recovery };
    });
    return { passkey: Passkey.parse(made), recoveryCodes: codes };
  }
}

/** `undefined` where WebAuthn does not work: without a page, under an IP address, or without encryption. */
function newCeremony(origin: string | undefined): Ceremony | undefined {
  const url = origin === undefined || parseOrigin(origin) === undefined ? undefined : new URL(origin);
  if (url === undefined || isIP(urlHost(url)) !== 0) return undefined;
  const isLocal = url.hostname === "localhost" || url.hostname.endsWith(".localhost");
  if (url.protocol !== "https:" && !isLocal) return undefined;
  return { origin: url.origin, rpId: url.hostname, challenge: randomBytes(32).toString("base64url") };
}

function wordsFor({ assertion, registration }: SecondFactorChallenge, isNew: boolean): string {
  if (assertion !== undefined) return "confirm the login with your passkey or a recovery code";
  const asked = "this server asks for a second factor:";
  if (isNew && registration !== undefined) return `${asked} make a passkey with an enrolment code`;
  if (isNew) return `${asked} open its page by a host name, over https, to make a passkey`;
  return "confirm the login with a recovery code, or open the page at the address that your passkeys are for";
}

const COUNT = 10;
/** Without easily confused characters: 0 and O, 1, I and L. */
const LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const GROUPS = 4;
const GROUP_LENGTH = 4;

function newRecoveryCodes(): string[] {
  const letter = (): string => LETTERS.charAt(randomInt(LETTERS.length));
  const group = (): string => Array.from({ length: GROUP_LENGTH }, letter).join("");
  return Array.from({ length: COUNT }, () => Array.from({ length: GROUPS }, group).join("-"));
}

/** Ignores case, spaces and hyphens. */
function recoveryHash(code: string): string {
  const plain = code.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return createHash("sha256").update(`ttyhq recovery code\n${plain}`).digest("base64url");
}
