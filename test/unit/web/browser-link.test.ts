import { expect, test } from "vitest";
import { openBrowserLink } from "../../../src/web/browser-link.ts";

const HANDLERS = { onMessage: () => undefined, onClose: () => undefined };

test("a try that was given up while it asked for its ticket connects to nothing", async () => {
  const link = openBrowserLink("ws://nowhere.invalid/ws", HANDLERS, AbortSignal.abort());
  await expect(link).rejects.toMatchObject({
    code: "host_unreachable",
    message: "the try to connect was given up",
  });
});
