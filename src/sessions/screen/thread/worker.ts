// The thread that parses the screens of all sessions: a terminal emulator takes a second for 30 MiB, and must not delay
// the output itself.
import { parentPort, workerData } from "node:worker_threads";
import type { ScreenReply, ScreenRequest } from "./message.ts";
import { ScreenPool } from "./pool.ts";

if (parentPort === null) throw new Error("worker.ts runs as a worker thread");
const port = parentPort;
const pool = new ScreenPool(workerData, () => performance.now());

// xterm.js warns of slow clean-ups.
console.warn = () => undefined;

port.on("message", (request: ScreenRequest) => {
  switch (request.kind) {
    case "view": {
      const reply = (message: ScreenReply): void => request.reply.postMessage(message);
      pool.view(request.source, request.view).then(
        (screen) => reply({ screen }),
        (error: unknown) => reply({ failure: `${error}` }),
      );
      return;
    }
    case "forget":
      pool.forget(request.id);
      return;
    case "close":
      pool[Symbol.dispose]();
      port.close();
      return;
  }
});
