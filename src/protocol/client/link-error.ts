// Why there is no link, as a ServiceError.
import { ServiceError } from "../errors.ts";
import type { LinkClose } from "./link.ts";

/** Statuses of 4xx that say nothing of the next try: too slow, too often. */
const FOR_NOW: ReadonlySet<number> = new Set([408, 429]);

/** Whether another try is of no use: the server understood, and refused. */
export function isFinal(error: ServiceError): boolean {
  return error.status >= 400 && error.status < 500 && !FOR_NOW.has(error.status);
}

export function disconnected(): ServiceError {
  return new ServiceError("host_unreachable", "disconnected");
}

export function givenUp(): ServiceError {
  return new ServiceError("host_unreachable", "the try to connect was given up");
}

export function silent(): ServiceError {
  return new ServiceError("host_unreachable", "the connection fell silent");
}

export function closed({ code, text }: LinkClose): ServiceError {
  const reason = text === "" ? "" : `: ${text}`;
  return new ServiceError("host_unreachable", `the connection was closed (${code}${reason})`);
}

export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const message = error instanceof Error ? error.message : "the connection failed";
  return new ServiceError("host_unreachable", message, { cause: error });
}
