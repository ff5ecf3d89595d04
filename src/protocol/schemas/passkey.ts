// The second factor of a login with a password: passkeys (WebAuthn), and recovery codes in case one is lost.
import { z } from "zod";
import { TokenResponse } from "./auth.ts";

/** Of WebAuthn, as JSON (W3C WebAuthn Level 3, 5.1.8 to 5.1.10). */
const Encoded = z.base64url().max(65_536);
/** Of `navigator.credentials.create` or `get`. */
export const CredentialOptions = z.record(z.string(), z.unknown());
const credential = { id: Encoded.max(2_048), rawId: Encoded.max(2_048), type: z.literal("public-key") };

/** The answer of `navigator.credentials.create`. */
export const NewCredential = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: Encoded,
    attestationObject: Encoded,
    transports: z.array(z.string().max(32)).max(8).optional(),
  }),
});
export type NewCredential = z.infer<typeof NewCredential>;

/** The answer of `navigator.credentials.get`. */
export const Assertion = z.object({
  ...credential,
  response: z.object({ clientDataJSON: Encoded, authenticatorData: Encoded, signature: Encoded }),
});
export type Assertion = z.infer<typeof Assertion>;

const RecoveryCode = z.string().max(64);

/**
 * `details` of the error `second_factor_required`. `assertion`: options for `navigator.credentials.get`, where the user
 * has a passkey for this address. `registration`: options for `navigator.credentials.create`, for a user with an enrolment
 * code.
 */
export const SecondFactorChallenge = z.object({
  challengeId: z.string(),
  assertion: CredentialOptions.optional(),
  registration: CredentialOptions.optional(),
  recoveryCodes: z.int().describe("unused ones"),
});
export type SecondFactorChallenge = z.infer<typeof SecondFactorChallenge>;

/** POST /api/auth/second-factor: one of the three; a registration needs an enrolment code. */
export const SecondFactorProof = z.object({
  challengeId: z.string().max(128),
  assertion: Assertion.optional(),
  registration: NewCredential.optional(),
  enrolmentCode: z.string().max(128).optional(),
  recoveryCode: RecoveryCode.optional(),
});
export type SecondFactorProof = z.infer<typeof SecondFactorProof>;

export const RecoveryCodes = z.array(z.string()).describe("each is valid once, and is not shown again");

/** `recoveryCodes`: of a passkey that was created at this login. */
export const SecondFactorResponse = TokenResponse.extend({ recoveryCodes: RecoveryCodes.optional() });
export type SecondFactorResponse = z.infer<typeof SecondFactorResponse>;

export const Passkey = z.object({
  id: z.string(),
  name: z.string(),
  createdAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime().optional(),
  /** The host name for which it is valid. */
  rpId: z.string(),
});
export type Passkey = z.infer<typeof Passkey>;

export const PasskeyList = z.object({
  passkeys: z.array(Passkey),
  recoveryCodes: z.int().describe("unused ones"),
  isRequired: z.boolean().describe("whether the server requires a second factor from all users"),
});
export type PasskeyList = z.infer<typeof PasskeyList>;

export const PasskeyMade = z.object({ passkey: Passkey, recoveryCodes: RecoveryCodes.optional() });
export type PasskeyMade = z.infer<typeof PasskeyMade>;
