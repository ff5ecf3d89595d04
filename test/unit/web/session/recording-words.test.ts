import { expect, test } from "vitest";
import { recordingWords } from "../../../../src/web/session/recording-words.ts";

test("nothing is said of a recording that has everything", () => {
  expect(recordingWords({})).toBeUndefined();
});

test("one that waits for the disk says that the session goes on", () => {
  expect(recordingWords({ recording: "waiting" })).toEqual({
    mark: "recording waits",
    title:
      "The disk takes nothing. The session goes on; the last of its output is held in memory and recorded when there is room again.",
  });
});

test("one that stopped at its limit says that the rest is only shown", () => {
  expect(recordingWords({ recording: "stopped" })).toEqual({
    mark: "recording stopped",
    title: "The recording has reached its size limit. What comes now is shown, but not recorded.",
  });
});

test("what the disk did not take is told in bytes, also once it is right again or the session is over", () => {
  expect(recordingWords({ lostBytes: 1 })).toEqual({
    mark: "recording incomplete",
    title: "The disk did not take all of the output: 1 byte is missing in the recording.",
  });
  expect(recordingWords({ recording: "waiting", lostBytes: 5 * 1024 ** 2 })).toEqual({
    mark: "recording waits",
    title: expect.stringMatching(/^The disk takes nothing\. .* 5 MiB are missing in the recording\.$/),
  });
});

test.each([
  [2, "2 bytes"],
  [1023, "1023 bytes"],
  [1024, "1 KiB"],
  [1_600, "1.6 KiB"],
  [1024 ** 2 - 1, "1 MiB"],
  [3 * 1024 ** 3, "3 GiB"],
  [9 * 1024 ** 5, "9216 TiB"],
])("%i bytes are %s", (lostBytes, size) => {
  expect(recordingWords({ lostBytes })?.title).toContain(`: ${size} are missing`);
});
