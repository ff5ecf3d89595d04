import { expect, test } from "vitest";
import { failureSentence, sentence } from "../../../../../src/web/sentence.ts";
import { leftWords } from "../../../../../src/web/session/sharing/share-words.ts";

test("how long a link still works is told in the largest unit", () => {
  const left = [30, 90, 7_200, 200_000].map((seconds) => leftWords(seconds * 1000, 0));
  expect(left).toEqual(["less than a minute left", "1 min left", "2 h left", "2 d left"]);
});

test("a message becomes a sentence, and a failure without words gets some", () => {
  expect([sentence("no session x"), sentence("Done. Really?")]).toEqual(["No session x.", "Done. Really?"]);
  expect(failureSentence(new Error("no"), "It failed.")).toBe("No.");
  expect([failureSentence(new Error(""), "It failed."), failureSentence(3, "It failed.")]).toEqual([
    "It failed.",
    "It failed.",
  ]);
});
