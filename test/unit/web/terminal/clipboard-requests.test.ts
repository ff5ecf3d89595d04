import { expect, test } from "vitest";
import { ClipboardRequests } from "../../../../src/web/terminal/clipboard-requests.ts";

test("a text that the browser did not take is not offered any more once the program writes another one", async () => {
  const clipboard = { isOpen: false, text: "" };
  const requests = new ClipboardRequests({
    sessionId: "a",
    preferences: { mayWriteClipboard: () => true, answerClipboard: () => undefined },
    write: async (text) => {
      if (!clipboard.isOpen) throw new DOMException("Document is not focused.", "NotAllowedError");
      clipboard.text = text;
    },
  });
  requests.request("earlier");
  await expect.poll(() => requests.waiting.value).toBe("earlier");
  clipboard.isOpen = true;
  requests.request("later");
  expect([requests.waiting.value, clipboard.text]).toEqual([undefined, "later"]);
});
