// Signs the server's challenge (contract 5.2).
import { ServiceError } from "../../../protocol/errors.ts";
import { decodeBase64, encodeBase64 } from "./format/base64.ts";
import type { OpenKey } from "./keyring.ts";

const CHALLENGE_BYTES = 32;

/**
 * `challenge`: base64. The page signs any challenge of a server, so it must have the length of a challenge; no message
 * of SSH's own login is that short. Rejects with `host_unreachable` otherwise.
 */
export async function answerChallenge(
  key: Pick<OpenKey, "publicLine" | "sign">,
  challenge: string,
): Promise<{ readonly publicKey: string; readonly signature: string }> {
  const bytes = decodeBase64(challenge);
  if (bytes?.length !== CHALLENGE_BYTES) {
    throw new ServiceError("host_unreachable", "the server sent an invalid challenge");
  }
  return { publicKey: key.publicLine, signature: encodeBase64(await key.sign(bytes)) };
}
