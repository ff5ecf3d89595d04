// One HTTP request, exactly as it is asked for, and its whole answer.
import { Agent, request } from "node:http";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import { headOf } from "./answer-head.ts";
import { PATIENCE_MS } from "./patience.ts";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export type Call = {
  /** GET unless another is given. */
  readonly method?: string;
  /** Sent as it is. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes or text as they are; anything else as JSON, with its content type. */
  readonly body?: unknown;
  /** The address that the request comes from, such as 127.0.0.2. */
  readonly from?: string;
  /** A unix socket in place of the origin's address. */
  readonly socketPath?: string;
  /** Hangs up when the head of the answer is there: for a body that goes on until somebody ends it. */
  readonly isHeadEnough?: boolean;
};

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body, parsed. Throws where it is no JSON. */
  readonly json: unknown;
};

/** Keeps connections, so that thousands of calls do not need as many ports. */
const agent = new Agent({ keepAlive: true });

export async function call(origin: string, asked: Call): Promise<Answer> {
  const { method = "GET", path, headers, body, from, socketPath, isHeadEnough = false } = asked;
  const bytes = encoded(body);
  // Left to itself, node:http sends the body of a DELETE without saying how long it is.
  const length = bytes === undefined ? {} : { "content-length": `${Buffer.byteLength(bytes)}` };
  const outgoing = request(origin, {
    ...{ agent, method, path, headers: { ...typeOf(body), ...length, ...headers } },
    ...(from === undefined ? {} : { localAddress: from }),
    ...(socketPath === undefined ? {} : { socketPath }),
  });
  outgoing.end(bytes);
  const answer = async (): Promise<Answer> => {
    const response = await headOf(outgoing);
    const received = new Uint8Array(isHeadEnough ? [] : await collectBytes(response, MAX_ANSWER_BYTES));
    const text = new TextDecoder().decode(received);
    return {
      ...{ status: response.statusCode ?? 0, bytes: received, text },
      headers: Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, `${value}`]),
      ),
      get json() {
        return JSON.parse(text);
      },
    };
  };
  try {
    return await withDeadline(answer(), PATIENCE_MS, `${method} ${path}`);
  } finally {
    outgoing.destroy();
  }
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
