import { expect, test } from "vitest";
import {
  ageWords,
  agoWords,
  commandWords,
  detailWords,
  endingBadge,
  endingTone,
  endingWords,
  nameWords,
} from "../../../../src/web/session/words.ts";

test("a time in the past is told by its age", () => {
  expect([agoWords(0, 59_000), agoWords(0, 60_000)]).toEqual(["just now", "1 min ago"]);
});

test("an age is told in the largest unit that has begun", () => {
  const ages = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 864_000].map((seconds) =>
    ageWords(0, seconds * 1000),
  );
  expect(ages).toEqual(["just now", "just now", "1 min", "59 min", "1 h", "23 h", "1 d", "10 d"]);
  // Clocks of two machines differ.
  expect(ageWords(5_000, 0)).toBe("just now");
  expect(ageWords(Number.NaN, 0)).toBe("");
});

test("a command reads as it would be typed", () => {
  expect(commandWords(["make", "-j8"])).toBe("make -j8");
  expect(commandWords(["echo", "it's", ""])).toBe("echo 'it'\\''s' ''");
  expect(commandWords(["/bin/bash", "-lc", "make && make test"])).toBe("make && make test");
});

test("the folder behind a name that the server made up is left out, another's is kept", () => {
  expect(nameWords({ name: "bash (~/src)", cwd: "/home/ada/src" })).toBe("bash");
  expect(nameWords({ name: "top (/)", cwd: "/" })).toBe("top");
  expect(nameWords({ name: "build (release)", cwd: "/" })).toBe("build (release)");
});

test("the detail says what the name does not", () => {
  const record = { name: "bash (/)", cwd: "/", command: ["bash"] };
  expect(detailWords(record)).toBe("");
  expect(detailWords({ ...record, title: "ada@forge" })).toBe("ada@forge");
  expect(detailWords({ ...record, name: "mine" })).toBe("bash");
});

test("an ending says what happened, and why where that is known", () => {
  expect(endingWords({ exitCode: 0 })).toEqual({
    what: "Finished",
    why: "The program ended successfully.",
  });
  expect(endingWords({ exitCode: 127 }).why).toBe("The command was not found.");
  expect(endingWords({ exitCode: 137, exitSignal: "SIGKILL" }).what).toBe("Ended by SIGKILL");
  expect(endingWords({ exitReason: "host_lost" }).what).toBe("The session host ended");
  expect(endingWords({})).toEqual({ what: "Ended", why: "" });
});

test("an ending that somebody asked for is neither good nor bad", () => {
  const endings = [
    { exitCode: 0 },
    { exitCode: 1 },
    { exitCode: 139, exitSignal: "SIGSEGV" },
    { exitCode: 0, exitReason: "host_lost" },
    { exitCode: 143, exitSignal: "SIGTERM" },
    { exitCode: 1, endRequested: true },
  ] as const;
  expect(endings.map((ending) => `${endingTone(ending)}: ${endingBadge(ending)}`)).toEqual([
    "good: exit 0",
    "bad: exit 1",
    "bad: SIGSEGV",
    "bad: lost",
    "neutral: SIGTERM",
    "neutral: ended",
  ]);
});
