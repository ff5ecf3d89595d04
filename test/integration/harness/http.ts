// HTTP of an arbitrary client: Host and Origin as given, and handshakes that return the socket.
import { once } from "node:events";
import { type Agent, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import { headOf } from "./answer-head.ts";
import { PATIENCE_MS } from "./patience.ts";

const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

export type Question = {
  /** By default POST with a body, else GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes or text unchanged; other values as JSON, with its content type. */
  readonly body?: unknown;
  /** The local address of the request, such as 127.0.0.2. */
  readonly from?: string;
  /** A unix socket, instead of the origin's address. */
  readonly socketPath?: string;
  /** Closes the connection after the head of the answer: for endless bodies. */
  readonly isHeadEnough?: boolean;
  /** Keeps connections open. Without an agent each request has a connection of its own. */
  readonly agent?: Agent;
};

/** A request including its target. */
export type PathQuestion = Question & { readonly path: string };

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON; undefined if it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it, the test says
  readonly json: any;
};

/** `base`: a server's origin. `path` is sent unchanged. */
export async function ask(base: string, path: string, question: Question = {}): Promise<Answer> {
  const { headers, body, from, socketPath, isHeadEnough = false, agent = false } = question;
  const { method = body === undefined ? "GET" : "POST" } = question;
  const bytes = encoded(body);
  // By default node:http sends the body of a DELETE without its length.
  const length = bytes === undefined ? {} : { "content-length": `${Buffer.byteLength(bytes)}` };
  const outgoing = request(base, {
    ...{ agent, method, path, headers: { ...typeOf(body), ...length, ...headers } },
    ...(from === undefined ? {} : { localAddress: from }),
    ...(socketPath === undefined ? {} : { socketPath }),
  });
  outgoing.end(bytes);
  const answer = async (): Promise<Answer> => {
    const response = await headOf(outgoing);
    return answerOf(response, isHeadEnough ? new Uint8Array() : await bodyOf(response));
  };
  try {
    return await withDeadline(answer(), PATIENCE_MS, `${method} ${path}`);
  } finally {
    outgoing.destroy();
  }
}

/** The answer to a WebSocket handshake: its status is 101 if it is accepted, and the socket is closed again. */
export async function shakeHands(
  base: string,
  path?: string,
  headers?: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { answer, socket } = await openSocket(base, path, headers);
  socket?.destroy();
  return answer;
}

/** Like `shakeHands`, but returns the accepted socket: the test alone speaks WebSocket on it. */
export async function openSocket(
  base: string,
  path = "/ws",
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly answer: Answer; readonly socket: Duplex | undefined }> {
  const handshake = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const outgoing = request(`${base}${path}`, { agent: false, headers: { ...handshake, ...headers } });
  const upgraded = once(outgoing, "upgrade");
  const answered = once(outgoing, "response");
  // The unused promise fails at the end of the connection.
  for (const each of [upgraded, answered]) each.catch(() => undefined);
  outgoing.end();
  const either = Promise.race([upgraded, answered]);
  const [response, socket] = await withDeadline(either, PATIENCE_MS, `the handshake at ${path}`);
  const body = socket === undefined ? await bodyOf(response) : new Uint8Array();
  return { answer: answerOf(response, body), socket };
}

export async function bodyOf(response: IncomingMessage): Promise<Uint8Array> {
  return new Uint8Array(await collectBytes(response, MAX_ANSWER_BYTES));
}

export function answerOf({ statusCode, headers }: IncomingMessage, bytes: Uint8Array): Answer {
  const text = new TextDecoder().decode(bytes);
  return { status: statusCode ?? 0, headers, bytes, text, json: parse(text) };
}

function typeOf(body: unknown): Record<string, string> {
  return isRaw(body) ? {} : { "content-type": "application/json" };
}

function encoded(body: unknown): string | Uint8Array | undefined {
  return isRaw(body) ? body : JSON.stringify(body);
}

function isRaw(body: unknown): body is string | Uint8Array | undefined {
  return body === undefined || typeof body === "string" || body instanceof Uint8Array;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
