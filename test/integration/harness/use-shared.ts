import { afterAll, beforeAll } from "vitest";

/** Starts a server or the like for all tests of the file. Returns a function that gives it to each test. */
export function useShared<T extends AsyncDisposable>(start: () => Promise<T>): () => T {
  let opened: T | undefined;
  beforeAll(async () => {
    opened = await start();
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());
  return () => {
    if (opened === undefined) throw new Error("the server of this file did not start");
    return opened;
  };
}
