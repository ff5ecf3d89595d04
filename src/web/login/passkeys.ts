// The browser's passkeys. The library is loaded at first use.
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/browser";
import { z } from "zod";
import { Assertion, NewCredential } from "../../protocol/schemas/passkey.ts";

type Options = Readonly<Record<string, unknown>>;

/** Created by the server's library for the one here. */
const CreationOptions = z.custom<PublicKeyCredentialCreationOptionsJSON>(
  (value) => typeof value === "object",
);
const RequestOptions = z.custom<PublicKeyCredentialRequestOptionsJSON>((value) => typeof value === "object");

/** Asks the person to create a passkey. Throws an error with a readable message. */
export async function makePasskey(options: Options): Promise<NewCredential> {
  const { startRegistration } = await import("@simplewebauthn/browser");
  const optionsJSON = CreationOptions.parse(options);
  return NewCredential.parse(await startRegistration({ optionsJSON }).catch(explain));
}

/** Asks the person for a passkey. Throws like `makePasskey`. */
export async function usePasskey(options: Options): Promise<Assertion> {
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const optionsJSON = RequestOptions.parse(options);
  return Assertion.parse(await startAuthentication({ optionsJSON }).catch(explain));
}

/** Browsers reveal few details to pages. */
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError" || name === "AbortError") {
    throw new Error("it was cancelled, timed out, or this device has no matching passkey", { cause: error });
  }
  if (name === "InvalidStateError")
    throw new Error("this device already has a passkey for this server", { cause: error });
  throw error;
}
