// A POST whose head is sent at once, and whose body never comes.
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { PATIENCE_MS } from "./patience.ts";
import type { Person } from "./people.ts";

/** Resolves when the server waits for the body. The function resolves with the answer when the connection has closed. */
export async function postWithoutBody(person: Person, path: string): Promise<() => Promise<string>> {
  const { host, hostname, port } = new URL(person.server.url);
  const socket = connect(Number(port), hostname);
  const answer = text(socket);
  await once(socket, "connect");
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: ${person.headers.authorization}`,
    "Content-Type: application/json",
    "Content-Length: 100",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n{`);
  // Sent later, and answered: so the head has been read.
  await person.ask("/api/auth/verify");
  return () => withDeadline(answer, PATIENCE_MS, "the end of the connection");
}
