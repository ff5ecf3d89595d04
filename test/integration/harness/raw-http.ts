// HTTP as any client may speak it: Host and Origin as given, and handshakes whose socket is the caller's.
import { once } from "node:events";
import { request } from "node:http";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { call } from "./http-call.ts";
import { PATIENCE_MS } from "./patience.ts";

export type Question = {
  /** POST with a body, else GET, unless another is given. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  /** The address that the request comes from, such as 127.0.0.2. */
  readonly from?: string;
  /** Hangs up when the head of the answer is there. */
  readonly isHeadEnough?: boolean;
};

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; undefined for what is none. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it, the test says
  readonly json: any;
};

/** `base`: a server's origin. Each question comes on a connection of its own. */
export async function ask(base: string, path: string, question: Question = {}): Promise<Answer> {
  const { method = question.body === undefined ? "GET" : "POST", headers } = question;
  const answer = await call(base, {
    ...{ ...question, path, method },
    headers: { connection: "close", ...headers },
  });
  return { status: answer.status, headers: answer.headers, text: answer.text, json: parse(answer.text) };
}

/** The answer to a WebSocket handshake: its status is 101 where it is let in, and the socket is closed again. */
export async function shakeHands(
  base: string,
  path?: string,
  headers?: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { answer, socket } = await openSocket(base, path, headers);
  socket?.destroy();
  return answer;
}

/** As `shakeHands`, with the socket where it is let in: nobody speaks WebSocket on it but the test. */
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
  // The one that does not happen fails at the end of the connection.
  for (const each of [upgraded, answered]) each.catch(() => undefined);
  outgoing.end();
  const either = Promise.race([upgraded, answered]);
  const [response, socket] = await withDeadline(either, PATIENCE_MS, `the handshake at ${path}`);
  const body = socket === undefined ? await text(response) : "";
  const answer = { status: response.statusCode, headers: response.headers, text: body, json: parse(body) };
  return { answer, socket };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
