// A server and a browser for the tests of one file.
import { afterAll, beforeAll } from "vitest";
import { Chromium } from "./chromium.ts";
import { ServerProcess, type ServerProcessOptions } from "./server-process.ts";

export type Stage = { readonly server: ServerProcess; readonly chromium: Chromium };

/** Starts both before the tests of the file and ends them afterwards; the returned function is for use within tests. */
export function useStage(options: ServerProcessOptions = {}): () => Stage {
  const scope = new AsyncDisposableStack();
  let stage: Stage | undefined;
  beforeAll(async () => {
    const server = scope.use(await ServerProcess.start(options));
    const chromium = scope.use(await Chromium.start());
    stage = { server, chromium };
  });
  afterAll(() => scope.disposeAsync());
  return () => {
    if (stage === undefined) throw new Error("the server or the browser did not start");
    return stage;
  };
}
