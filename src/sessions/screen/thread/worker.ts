// The thread that parses the screens of all sessions: a second for 30 MiB, which must not delay the output itself.
import { parentPort } from "node:worker_threads";
import { MAX_SCREEN_TERMINALS, SCREEN_IDLE_MS } from "../../../protocol/limits.ts";
import type { ScreenReply, ScreenRequest } from "./message.ts";
import { ScreenPool } from "./pool.ts";

if (parentPort === null) throw new Error("worker.ts runs as a worker thread");
const port = parentPort;
const options = { idleMs: SCREEN_IDLE_MS, maxTerminals: MAX_SCREEN_TERMINALS };
const pool = new ScreenPool(options, () => performance.now());

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
