// A server and a browser for the tests of one file.
import { afterAll, beforeAll } from "vitest";
import type { TestServer } from "../harness/test-server.ts";
import { Chromium } from "./chromium.ts";
import { type PageServerOptions, startPageServer } from "./page-server.ts";

export type Stage = { readonly server: TestServer; readonly chromium: Chromium };

/** Starts both before the tests of the file and ends them afterwards; the returned function is for use within tests. */
export function useStage(
  options: PageServerOptions = {},
  startChromium = () => Chromium.ofProcess(),
): () => Stage {
  const scope = new AsyncDisposableStack();
  let stage: Stage | undefined;
  beforeAll(async () => {
    const server = scope.use(await startPageServer(options));
    const chromium = scope.use(await startChromium());
    stage = { server, chromium };
  });
  afterAll(() => scope.disposeAsync());
  return () => {
    if (stage === undefined) throw new Error("the server or the browser did not start");
    return stage;
  };
}
