// The process that does everything about the repositories of one user, as that user. A session host starts it with a
// socket as descriptor 3 and ends it when it is idle; without the host it ends by itself.
import { Socket } from "node:net";
import { env } from "node:process";
import { JsonLines } from "../../lib/fs/json-lines.ts";
import { MAX_WORKER_MESSAGE_LENGTH, ToWorker } from "./messages.ts";
import { GitWorker } from "./worker.ts";

const HOST_SOCKET_FD = 3;

const socket = new Socket({ fd: HOST_SOCKET_FD, readable: true, writable: true });
const worker = new GitWorker({ env, send: (message) => lines.send(message) });
const lines = new JsonLines(socket, {
  maxLength: MAX_WORKER_MESSAGE_LENGTH,
  onMessage: (message) => worker.handle(ToWorker.parse(message)),
});
// A change that was begun is brought to its end.
socket.once("close", () => void worker[Symbol.asyncDispose]().finally(() => process.exit()));
