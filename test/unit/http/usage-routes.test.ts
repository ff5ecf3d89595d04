import { expect, test } from "vitest";
import { ALL } from "../../../src/auth/roles.ts";
import type { Context } from "../../../src/http/route.ts";
import { usageRoutes } from "../../../src/http/routes/usage-routes.ts";
import { Usage } from "../../../src/protocol/schemas/usage.ts";
import { AnySession } from "../../../src/remote/specified/session-record.ts";

const CONTEXT: Context = {
  principal: { user: "me", method: "token", rights: ALL },
  ...{ identified: async () => undefined, address: undefined, accepts: () => false },
  ...{ range: undefined, lastEventId: undefined, signal: new AbortController().signal },
};

test("the usage can be read whatever a remote says about the output of its sessions", async () => {
  const most = Number.MAX_SAFE_INTEGER;
  const sessions = [most, most, -1].map((outputBytes, index) => ({
    ...AnySession.parse({ id: `s${index}`, outputBytes }),
    owner: outputBytes < 0 ? "ada" : "eve",
  }));
  const { readUsage } = usageRoutes({
    backend: { list: async () => sessions },
    hub: { clients: [] },
    gate: {
      shares: undefined,
      loginRecords: { list: () => [], tokens: () => [] },
      users: { own: "me" },
      config: { noAuth: true },
    },
    config: { rateLimits: { apiCalls: 1, sessions: 1 }, recording: { maxBytes: 1 } },
  });
  const read = Usage.safeParse(
    await readUsage?.({ params: undefined, query: undefined, body: undefined }, CONTEXT),
  );
  expect(read.data?.users).toMatchObject([
    { user: "ada", outputBytes: 0 },
    { user: "eve", outputBytes: most },
  ]);
});
