import type { z } from "zod";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { collectBytes } from "../../lib/data/collect.ts";
import { parseShallowJson } from "../../lib/data/json.ts";
import { type Endpoint, endpointPath } from "../endpoints/endpoint.ts";
import { type ErrorCode, errorFromBody, ServiceError } from "../errors.ts";
import { parseJson } from "../json.ts";
import { MAX_ERROR_BODY_BYTES, MAX_REPLY_BYTES, REQUEST_TIMEOUT_MS } from "../limits.ts";
import type { ClientRequest, ClientResponse, Send } from "./send.ts";

type Written<T> = T extends z.ZodType ? z.input<T> : undefined;

/** The input of an endpoint's schemas, before defaults. */
type CallInput<E extends Endpoint> = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Written<E["query"]>;
  readonly body?: Written<E["body"]>;
};

type JsonReply<T> = { readonly reply: { readonly json: z.ZodType<T> } };

/** Calls reject with the server's ServiceError, or with `host_unreachable` without a valid answer in REQUEST_TIMEOUT_MS. */
export type Caller = {
  /** For endpoints with a JSON reply. `signal` aborts the call, which rejects with its reason. */
  call<T, E extends Endpoint>(
    endpoint: E & JsonReply<T>,
    input?: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<T>;
  /** Like `call`, with the headers of the answer, their names in lower case. */
  reply<T, E extends Endpoint>(
    endpoint: E & JsonReply<T>,
    input?: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<{ readonly value: T; readonly headers: ClientResponse["headers"] }>;
  /** The body of the answer. */
  bytes<E extends Endpoint>(endpoint: E, input?: CallInput<E>): Promise<Uint8Array>;
  /** The body as a stream, which `signal` ends. */
  stream<E extends Endpoint>(endpoint: E, input: CallInput<E>, signal: AbortSignal): Promise<ClientResponse>;
};

export function createCaller(send: Send): Caller {
  const whole = (endpoint: Endpoint, input: AnyInput, signal?: AbortSignal) => {
    const work = async (inner: AbortSignal) => {
      const { headers, body } = await request(send, endpoint, input, inner);
      return { headers, bytes: await readBytes(endpoint, body) };
    };
    return inTime(endpoint, work, signal);
  };
  const reply: Caller["reply"] = async (endpoint, input = {}, signal) => {
    const { headers, bytes } = await whole(endpoint, input, signal);
    const result = endpoint.reply.json.safeParse(parseJson(bytes));
    if (result.success) return { value: result.data, headers };
    throw notUnderstood(endpoint, result.error);
  };
  return {
    reply,
    call: async (endpoint, input, signal) => (await reply(endpoint, input, signal)).value,
    bytes: async (endpoint, input = {}) => (await whole(endpoint, input)).bytes,
    // The inner signal ends with the head of the answer, `signal` ends the body as well.
    stream: (endpoint, input, signal) =>
      inTime(endpoint, (inner) => request(send, endpoint, input, AbortSignal.any([signal, inner]))),
  };
}

type AnyInput = {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: unknown;
  readonly body?: unknown;
};

export function requestOf(
  endpoint: Endpoint,
  { params, query, body }: AnyInput,
): Omit<ClientRequest, "signal"> {
  return {
    method: METHODS[endpoint.method],
    path: endpointPath(endpoint, params) + queryText(query),
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

async function request(
  send: Send,
  endpoint: Endpoint,
  input: AnyInput,
  signal: AbortSignal,
): Promise<ClientResponse> {
  const response = await send({ ...requestOf(endpoint, input), signal });
  const { status, body } = response;
  if (status >= 200 && status < 300) return response;
  const code = CODES.get(status) ?? (status >= 500 ? "host_unreachable" : "internal_error");
  const message = `the server answered ${nameOf(endpoint)} with status ${status}`;
  throw await readError(body, code, message);
}

/**
 * The error that an answer states, or one of `fallback` and `message`. Reads at most MAX_ERROR_BODY_BYTES. The details are
 * passed on as JSON, which deep ones would make fail.
 */
export async function readError(
  body: AsyncIterable<Uint8Array>,
  fallback: ErrorCode,
  message: string,
): Promise<ServiceError> {
  const read = async (): Promise<unknown> =>
    parseShallowJson(new TextDecoder().decode(await collectBytes(body, MAX_ERROR_BODY_BYTES)));
  return errorFromBody(await read().catch(() => undefined), fallback, message);
}

const METHODS = { get: "GET", post: "POST", patch: "PATCH", delete: "DELETE" } as const;

/** `undefined` members are left out. */
function queryText(query: unknown): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) search.append(name, String(value));
  }
  return search.size === 0 ? "" : `?${search}`;
}

async function inTime<T>(
  endpoint: Endpoint,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await withDeadline(work, REQUEST_TIMEOUT_MS, nameOf(endpoint), signal);
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    throw new ServiceError("host_unreachable", `no answer to ${nameOf(endpoint)}`, { cause });
  }
}

/** For an answer of another program, such as a proxy. */
const CODES: ReadonlyMap<number, ErrorCode> = new Map([
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "not_found"],
  [413, "body_too_large"],
  [429, "rate_limited"],
]);

async function readBytes(endpoint: Endpoint, body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  try {
    return await collectBytes(body, endpoint.maxReplyBytes ?? MAX_REPLY_BYTES);
  } catch (cause) {
    throw cause instanceof RangeError ? notUnderstood(endpoint, cause, "too large") : cause;
  }
}

function notUnderstood(endpoint: Endpoint, cause: unknown, why = "invalid"): ServiceError {
  const message = `the answer to ${nameOf(endpoint)} is ${why}`;
  return new ServiceError("host_unreachable", message, { cause });
}

function nameOf(endpoint: Endpoint): string {
  return `${METHODS[endpoint.method]} ${endpoint.path}`;
}
