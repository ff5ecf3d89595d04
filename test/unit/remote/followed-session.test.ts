import { expect, test } from "vitest";
import { isTimeout } from "../../../src/lib/async/deadline.ts";
import type { ServiceError } from "../../../src/protocol/errors.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { followSession } from "../../../src/remote/followed-session.ts";
import { record } from "../cli/record.ts";
import { connect } from "../protocol/memory-client.ts";
import { MemoryServer } from "../protocol/memory-server.ts";
import { until } from "../until.ts";

test("a subscription is refused at once if its server dies before the answer", async () => {
  const server = new MemoryServer();
  server.create("a");
  using socket = connect(server);
  await socket.opened(1_000);
  server.link.isSilent = true;
  const sinks = { sink: () => {}, events: () => {} };
  const following = followSession(socket, record({ id: "a" }), SubscribeFlag.Stdout, sinks);
  const refused = following.then(
    () => undefined,
    (error: ServiceError) => error,
  );
  await until(() => server.link.received.length === 2);
  server.link.cut();
  const error = await refused;
  expect(error).toMatchObject({ code: "host_unreachable" });
  expect(isTimeout(error?.cause)).toBe(false);
  await socket.opened(1_000);
});
