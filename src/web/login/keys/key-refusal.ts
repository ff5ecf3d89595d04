import { ServiceError } from "../../../protocol/errors.ts";

/** The reason why something cannot be used as a key. `message` describes it and, if possible, the way out. */
export function keyRefusal(message: string, cause?: unknown): ServiceError {
  return new ServiceError("invalid_request", message, cause === undefined ? {} : { cause });
}

/** `why`: the defect. */
export function malformedKey(why: string): ServiceError {
  return keyRefusal(`the key is malformed: ${why}`);
}

export function truncatedKey(): ServiceError {
  return keyRefusal("the key is truncated: import the whole file");
}

export function inconsistentKey(): ServiceError {
  return keyRefusal("the key is inconsistent: its public key does not match its private key");
}

/** `kind`: with its article, as "an RSA key". */
export function otherKind(kind: string): ServiceError {
  return keyRefusal(`this is ${kind}: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one`);
}
