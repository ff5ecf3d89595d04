// WebAuthn: the only importer of its library, loaded on first use.
import { ServiceError } from "../../protocol/errors.ts";
import type { Assertion, NewCredential } from "../../protocol/schemas/passkey.ts";
import type { KeptPasskey } from "./factor-store.ts";

/** The page's origin, its host name, to which a passkey is bound, and 256 random bits. */
export type Ceremony = { readonly origin: string; readonly rpId: string; readonly challenge: string };

type Options = Readonly<Record<string, unknown>>;

const RP_NAME = "ttyhq";
const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"] as const;

export async function registrationOptions(
  { rpId, challenge }: Ceremony,
  user: string,
  known: readonly KeptPasskey[],
): Promise<Options> {
  const { generateRegistrationOptions } = await import("@simplewebauthn/server");
  const options = await generateRegistrationOptions({
    ...{ rpName: RP_NAME, rpID: rpId, userName: user, userDisplayName: user },
    ...{ challenge: Buffer.from(challenge, "base64url"), excludeCredentials: known.map(credentialOf) },
    authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
  });
  return { ...options };
}

export async function assertionOptions(
  { rpId, challenge }: Ceremony,
  allowed: readonly KeptPasskey[],
): Promise<Options> {
  const { generateAuthenticationOptions } = await import("@simplewebauthn/server");
  const options = await generateAuthenticationOptions({
    ...{ challenge: Buffer.from(challenge, "base64url"), rpID: rpId, userVerification: "preferred" },
    allowCredentials: allowed.map(credentialOf),
  });
  return { ...options };
}

/** ServiceError `invalid_credentials` for an answer to any other challenge. */
export async function verifiedRegistration(
  { challenge, origin, rpId }: Ceremony,
  { id, rawId, type, response }: NewCredential,
): Promise<Pick<KeptPasskey, "id" | "publicKey" | "counter" | "transports" | "rpId">> {
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { clientDataJSON, attestationObject, transports = [] } = response;
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: {
      ...{ id, rawId, type, clientExtensionResults: {} },
      response: { clientDataJSON, attestationObject },
    },
    ...{ expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: rpId },
    requireUserVerification: false,
  }).catch(refuse);
  if (!verified || registrationInfo === undefined) return refuse(undefined);
  const { credential } = registrationInfo;
  const publicKey = Buffer.from(credential.publicKey).toString("base64url");
  return { id: credential.id, publicKey, counter: credential.counter, transports, rpId };
}

/** The authenticator's new counter. A counter that does not increase means a copied passkey: refused. */
export async function verifiedAssertion(
  { challenge, origin, rpId }: Ceremony,
  { id, rawId, type, response }: Assertion,
  passkey: KeptPasskey,
): Promise<number> {
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { id, rawId, type, clientExtensionResults: {}, response },
    ...{ expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: rpId },
    credential: {
      ...{ id: passkey.id, counter: passkey.counter },
      publicKey: new Uint8Array(Buffer.from(passkey.publicKey, "base64url")),
    },
    requireUserVerification: false,
  }).catch(refuse);
  return verified ? authenticationInfo.newCounter : refuse(undefined);
}

function credentialOf({ id, transports }: KeptPasskey) {
  return { id, transports: TRANSPORTS.filter((known) => transports.includes(known)) };
}

/** The exact reason would help only attackers. */
function refuse(cause: unknown): never {
  throw new ServiceError("invalid_credentials", "the passkey was not accepted", { cause });
}
