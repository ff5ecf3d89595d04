// The process that does all work on the repositories of one user, as that user. A session host starts it with a socket
// as descriptor 3 and ends it when it is idle; without the host it ends by itself.
import { Socket } from "node:net";
import { env } from "node:process";
import { JsonLines } from "../../lib/fs/json-lines.ts";
import { MAX_WORKER_MESSAGE_LENGTH, ToWorker } from "./messages.ts";
import { GitWorker } from "./worker.ts";

const HOST_SOCKET_FD = 3;

let worker: GitWorker | undefined;
const socket = new Socket({ fd: HOST_SOCKET_FD, readable: true, writable: true });
const lines = new JsonLines(socket, {
  maxLength: MAX_WORKER_MESSAGE_LENGTH,
  onMessage: (json) => {
    const message = ToWorker.parse(json);
    if (message.type !== "begin") worker?.handle(message);
    else worker = new GitWorker({ ...message, env, send: (reply) => lines.send(reply) });
  },
});
// A change that has begun is completed first.
socket.once("close", () => void worker?.[Symbol.asyncDispose]().finally(() => process.exit()));
