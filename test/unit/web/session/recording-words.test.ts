import { expect, test } from "vitest";
import { recordingWords } from "../../../../src/web/session/recording-words.ts";

test("nothing is said of a recording that has everything", () => {
  expect(recordingWords({})).toBeUndefined();
});

test("one that waits for the disk says that the session goes on", () => {
  expect(recordingWords({ recording: "waiting" })).toEqual({
    mark: "recording paused",
    title:
      "The disk is full or read-only. The session keeps running; its latest output is kept in memory and recorded once the disk has space.",
  });
});

test("one that stopped at its limit says that the rest is only shown", () => {
  expect(recordingWords({ recording: "stopped" })).toEqual({
    mark: "recording stopped",
    title: "The recording has reached its size limit. New output is shown, but not recorded.",
  });
});

test("unrecorded bytes are reported, also after the disk has recovered or the session has ended", () => {
  expect(recordingWords({ lostBytes: 1 })).toEqual({
    mark: "recording incomplete",
    title: "The disk could not store all output: 1 byte is missing from the recording.",
  });
  expect(recordingWords({ recording: "waiting", lostBytes: 5 * 1024 ** 2 })).toEqual({
    mark: "recording paused",
    title: expect.stringMatching(
      /^The disk is full or read-only\. .* 5 MiB are missing from the recording\.$/,
    ),
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
