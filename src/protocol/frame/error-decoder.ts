import { z } from "zod";
import { errorFromBody, type ServiceError } from "../errors.ts";
import { decodeJson } from "./payload.ts";

/** What an ERROR frame answers, as its member `request`; other errors answer nothing. */
export type FailedRequest = "subscribe" | "command";

export type DecodedError = { readonly error: ServiceError; readonly request: FailedRequest | undefined };

const ErrorPayload = z.looseObject({
  message: z.string(),
  request: z.enum(["subscribe", "command"]).optional().catch(undefined),
});

/** The payload of an ERROR frame; the frame says `message` where a REST body says `error`. Throws PayloadError. */
export function decodeError(payload: Uint8Array): DecodedError {
  const { data } = ErrorPayload.safeParse(decodeJson(payload));
  const message = data?.message ?? "unknown error";
  const error = errorFromBody({ ...data, error: data?.message }, "internal_error", message);
  return { error, request: data?.request };
}
