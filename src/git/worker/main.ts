// The process that does all work on the repositories of one user, as that user. A session host starts it and ends it when
// it is idle; without the host it ends by itself.
import { env } from "node:process";
import { parentPeer } from "../../lib/os/worker-process.ts";
import { WORKER } from "./methods.ts";
import { GitWorker } from "./worker.ts";

let worker: GitWorker | undefined;
// A change that has begun is completed first.
const host = parentPeer(() => void worker?.[Symbol.asyncDispose]().finally(() => process.exit()));
host.serve(WORKER.begin, (setup) => {
  worker = new GitWorker(host, env, setup);
});
