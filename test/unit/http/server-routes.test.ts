import { expect, test } from "vitest";
import type { Context } from "../../../src/http/route.ts";
import { serverRoutes } from "../../../src/http/routes/server-routes.ts";

const CONTEXT: Context<undefined> = {
  ...{ principal: undefined, identified: async () => undefined, address: undefined, accepts: () => false },
  ...{ range: undefined, lastEventId: undefined, signal: new AbortController().signal },
};

test("the description of the API is generated once, at the first request", async () => {
  let made = 0;
  const mounted = (): readonly string[] => {
    made += 1;
    return ["livez"];
  };
  const health = () => Promise.reject(new Error("not asked"));
  const metrics = { type: "text/plain", text: async () => "" };
  const parts = {
    health,
    metrics,
    mounted,
    version: "1",
    checkReady: () => {},
    hub: { clients: [], tellUser: () => 0 },
  };
  const { openapi } = serverRoutes(parts);
  expect(made).toBe(0);
  const ask = () => openapi?.({ params: undefined, query: undefined, body: undefined }, CONTEXT);
  const first = await ask();
  expect(first).toBeDefined();
  expect(await ask()).toBe(first);
  expect(made).toBe(1);
});
