import { expect, test } from "vitest";
import { openLink } from "../../../src/remote/uplink.ts";

const HANDLERS = { onMessage: () => undefined, onClose: () => undefined };

test("a try that was given up already connects to nothing", async () => {
  const link = openLink({ socketPath: "/nonexistent/server.sock" }, HANDLERS, AbortSignal.abort());
  await expect(link).rejects.toMatchObject({
    code: "host_unreachable",
    message: "the attempt to connect was aborted",
  });
});
