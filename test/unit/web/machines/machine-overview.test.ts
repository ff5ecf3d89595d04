import { expect, test } from "vitest";
import { createClient } from "../../../../src/protocol/client/client.ts";
import { MachineOverview } from "../../../../src/web/machines/machine-overview.ts";
import { Events, remote, shown } from "../hq.ts";
import { LosingServer } from "../losing-server.ts";
import { until } from "../until.ts";

const HEALTH = {
  ...{ status: "healthy", uptime: 1, version: "1", sessions: 0, mode: "hq", instanceId: "one" },
  ...{ pid: 1, protocol: 1, timestamp: "2026-01-01T00:00:00.000Z" },
};

test("a reading that hangs on a lost connection is replaced on the next one", async () => {
  const events = new Events();
  const answers = { "/api/health": HEALTH, "/api/remotes": [remote("web")] };
  const server = new LosingServer(answers);
  using overview = new MachineOverview({
    ...{ client: createClient(server.send), isManager: async () => false },
    ...{ subscribe: events.subscribe, stage: shown.stage },
  });
  await until(overview.state, (state) => state?.remotes.length === 1);
  server.isLost = true;
  overview.refresh();
  const hanging = await server.hanging;
  server.isLost = false;
  answers["/api/remotes"] = [remote("web"), remote("build")];
  events.tell({ type: "connected" });
  expect(hanging.aborted).toBe(true);
  await until(overview.state, (state) => state?.remotes.length === 2);
});
