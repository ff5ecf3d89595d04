import { errorBody, ServiceError } from "../../protocol/errors.ts";
import type { FailedRequest } from "../../protocol/frame/error-decoder.ts";
import { encodeJson, PayloadError } from "../../protocol/frame/payload.ts";

/**
 * The payload of ERROR, and whether the fault is ours. `request`: what it answers, where it answers something: commands
 * take their time, and a SUBSCRIBE may overtake them.
 */
export function errorAnswer(
  error: unknown,
  request?: FailedRequest,
): { readonly payload: Uint8Array; readonly isFault: boolean } {
  const known = error instanceof PayloadError ? new ServiceError("invalid_request", error.message) : error;
  const { error: message, code } = errorBody(known);
  const payload = encodeJson({ message, code, ...(request && { request }) });
  return { payload, isFault: code === "internal_error" };
}
