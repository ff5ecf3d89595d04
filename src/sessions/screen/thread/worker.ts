// The thread in which the screens of all sessions are parsed: a terminal emulator is the dearest thing in the house
// (30 MiB a second), and nothing of it may stand in the way of the output itself.
import { parentPort, workerData } from "node:worker_threads";
import { ScreenPoolOptions, type ScreenReply, ScreenRequest } from "./message.ts";
import { ScreenPool } from "./pool.ts";

if (parentPort === null) throw new Error("worker.ts runs as a worker thread");
const port = parentPort;
const pool = new ScreenPool(ScreenPoolOptions.parse(workerData), () => performance.now());

// Xterm.js writes there when tidying up took it long, which concerns nobody.
console.warn = () => undefined;

port.on("message", (message: unknown) => obey(ScreenRequest.parse(message)));

function obey(request: ScreenRequest): void {
  switch (request.kind) {
    case "view": {
      const { number, source, view } = request;
      pool.ask({
        source,
        view,
        answer: (screen) => reply({ kind: "screen", number, screen }),
        fail: (error) => reply({ kind: "failed", number, message: `${error}` }),
      });
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
}

function reply(message: ScreenReply): void {
  port.postMessage(message);
}
