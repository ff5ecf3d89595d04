// Sends raw bytes on a connection, and returns the answer.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { PATIENCE_MS } from "./patience.ts";

export type RawAnswer = {
  /** Everything received until the end of the connection. */
  readonly text: string;
  /** The status of each answer, in order. */
  readonly statuses: readonly number[];
  /** The `code` of the first error. */
  readonly code: string | undefined;
};

/** Opens a connection and sends nothing. A reset counts as a close. */
export async function openConnection(base: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await withDeadline(once(socket, "connect"), PATIENCE_MS, "the connection");
  return socket;
}

/** Everything received until the server closes the connection. Rejects if it does not. */
export async function untilClosed(socket: Socket, ms: number = PATIENCE_MS): Promise<RawAnswer> {
  let text = "";
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
  });
  if (!socket.closed) await withDeadline(once(socket, "close"), ms, "the end of the connection");
  return answerOf(text);
}

/** Sends the text, one byte per character, and returns the answer. The server must close the connection. */
export async function sendRaw(base: string, text: string): Promise<RawAnswer> {
  const socket = await openConnection(base);
  socket.write(text, "latin1");
  return await untilClosed(socket);
}

/** A request with `Connection: close`. `host`: by default the server's. */
export function rawRequest(base: string, target: string, more: readonly string[] = []): string {
  const lines = [`GET ${target} HTTP/1.1`, `Host: ${new URL(base).host}`, "Connection: close", ...more];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function answerOf(text: string): RawAnswer {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  const code = /"code":"([a-z_]+)"/.exec(text)?.[1];
  return { text, statuses: statuses.filter((status) => status !== 100), code };
}
