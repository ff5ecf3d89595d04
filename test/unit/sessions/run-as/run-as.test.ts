import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";

const RUN_AS = fileURLToPath(new URL("../../../../build/Release/ttyhq-run-as", import.meta.url));
const FAILED = 125;

const runAs = (...args: string[]) => {
  const { status, signal, stderr } = spawnSync(RUN_AS, args, {
    env: { "+PATH": "/usr/bin:/bin" },
    encoding: "utf8",
  });
  return { status, signal, stderr };
};

test("what becomes a user does nothing for whoever asks it for nonsense", () => {
  const ids = ["65534", "65534", "65534", "022"] as const;
  const calls = [
    [],
    ["start"],
    ["start", ...ids, "", "/"],
    ["directory", ...ids, "", "/", "more"],
    ["become", ...ids, "", "/", "true"],
    ["directory", "nobody", "65534", "", "022", "", "/"],
    ["directory", "-1", "65534", "", "022", "", "/"],
    ["directory", "4294967295", "65534", "", "022", "", "/"],
    ["directory", "65534", " 1", "", "022", "", "/"],
    ["directory", "65534", "65534", "1,x", "022", "", "/"],
    ["directory", "65534", "65534", "", "099", "", "/"],
    ["directory", ...ids, "nofile", "/"],
    ["directory", ...ids, "nofile=1", "/"],
    ["directory", ...ids, "nofile=1:x", "/"],
    ["directory", ...ids, "files=1:2", "/"],
  ];
  for (const call of calls) {
    const { status, stderr } = runAs(...call);
    expect({ call, status }).toEqual({ call, status: FAILED });
    expect(stderr).toMatch(/^ttyhq: .+\n$/);
  }
});

test("no words make it crash, or be something in between", () => {
  const word = fc.oneof(
    fc.string({ maxLength: 12 }).map((text) => text.replaceAll("\0", "")),
    fc.constantFrom("65534", "1,2,3", "022", "nofile=64:64,core=0:unlimited", "=:", ",,", "nofile=:", "/"),
  );
  fc.assert(
    fc.property(
      fc.constantFrom("directory", "program", ""),
      fc.array(word, { maxLength: 8 }),
      (mode, words) => {
        const { status, signal } = runAs(mode, ...words);
        expect(signal).toBeNull();
        expect([0, 10, 11, 12, 13, FAILED]).toContain(status);
      },
    ),
    { numRuns: 150 },
  );
});
