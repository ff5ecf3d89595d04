import { ServiceError } from "../protocol/errors.ts";

export function notFound(id: string): ServiceError {
  return new ServiceError("session_not_found", `no session ${id}`);
}

export function shuttingDown(): ServiceError {
  return new ServiceError("shutting_down", "the session host is shutting down");
}
