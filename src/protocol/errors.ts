import { MAX_ERROR_TEXT_LENGTH } from "./limits.ts";

/** All error codes that clients can see, with their HTTP status (contract 4). */
export const ERROR_STATUS = {
  invalid_json: 400,
  invalid_request: 400,
  invalid_cwd: 400,
  invalid_branch_name: 400,
  command_not_found: 400,
  not_a_file: 400,
  session_not_running: 400,
  remote_id_required: 400,
  unauthorized: 401,
  invalid_credentials: 401,
  login_question: 401,
  second_factor_required: 401,
  forbidden: 403,
  origin_not_allowed: 403,
  host_not_allowed: 403,
  password_disabled: 403,
  ssh_keys_disabled: 403,
  login_refused: 403,
  join_refused: 403,
  not_found: 404,
  session_not_found: 404,
  file_not_found: 404,
  remote_not_found: 404,
  share_not_found: 404,
  join_token_not_found: 404,
  passkey_not_found: 404,
  login_not_found: 404,
  token_not_found: 404,
  not_a_repository: 404,
  worktree_not_found: 404,
  branch_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  session_exists: 409,
  session_running: 409,
  host_exists: 409,
  cordoned: 409,
  remote_name_taken: 409,
  token_name_taken: 409,
  uncommitted_changes: 409,
  branch_checked_out: 409,
  branch_exists: 409,
  worktree_path_exists: 409,
  main_worktree: 409,
  worktree_locked: 409,
  body_too_large: 413,
  range_not_satisfiable: 416,
  too_many_shares: 429,
  too_many_transfers: 429,
  too_many_join_tokens: 429,
  too_many_passkeys: 429,
  too_many_tokens: 429,
  input_overflow: 429,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  launch_failed: 500,
  git_failed: 500,
  start_failed: 500,
  remote_unreachable: 502,
  server_unreachable: 502,
  host_incompatible: 503,
  host_unreachable: 503,
  git_busy: 503,
  git_unavailable: 503,
  out_of_descriptors: 503,
  provider_unreachable: 503,
  registry_unavailable: 503,
  shutting_down: 503,
  starting: 503,
  remote_timeout: 504,
  disk_failed: 507,
  git_timeout: 504,
  // Only on the WebSocket (contract 1.5).
  bad_frame: 400,
  unknown_type: 400,
  binary_only: 400,
  too_many_subscriptions: 429,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** The body of an error response (specification 2.8). */
type ErrorBody = {
  readonly error: string;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
};

/** The only error class: a code, a message for the user, the original error as `cause`. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    more: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.details = more.details ?? {};
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_STATUS, value);
}

/** For people: the message of an error, or the text of any other value that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isUnreachable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === "host_unreachable";
}

/** For `catch`: `undefined` for an error with that code; throws any other error. */
export function unless(code: ErrorCode): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof ServiceError) || error.code !== code) throw error;
  };
}

/** Hides the details of internal errors from clients (contract 4.1). */
export function errorBody(error: unknown): ErrorBody {
  if (!(error instanceof ServiceError) || error.code === "internal_error") {
    return { error: "internal error", code: "internal_error", details: {} };
  }
  return { error: error.message, code: error.code, details: error.details };
}

/** The ServiceError of a received body; `fallback` for any other body. Long texts are cut. */
export function errorFromBody(body: unknown, fallback: ErrorCode, message: string): ServiceError {
  if (typeof body === "object" && body !== null && "code" in body && isErrorCode(body.code)) {
    const text = "error" in body && typeof body.error === "string" ? body.error : message;
    const details = "details" in body && isRecord(body.details) ? body.details : {};
    return new ServiceError(body.code, text.slice(0, MAX_ERROR_TEXT_LENGTH), { details });
  }
  return new ServiceError(fallback, message.slice(0, MAX_ERROR_TEXT_LENGTH));
}

/** Whether it is an object of JSON. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
