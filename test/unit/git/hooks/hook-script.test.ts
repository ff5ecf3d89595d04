import { execFile } from "node:child_process";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hookScript, keptHook, quoted } from "../../../../src/git/hooks/hook-script.ts";

const run = promisify(execFile);

describe("a hook's text", () => {
  test("does nothing when files are checked out, nor during a rebase", () => {
    const target = { node: "/n", main: "/m", controlDir: "/c" };
    const text = hookScript("post-checkout", target, { kept: undefined, isFolderOurs: false });
    expect(text).toContain('[ "$3" = 0 ] && exit $code');
    expect(text).toContain("rebase*) exit $code");
  });

  test.each([
    ["#!/bin/sh\n", { kind: "shell", shell: "/bin/sh" }],
    ["#!/bin/bash -eu\nx", { kind: "shell", shell: "/bin/bash -eu" }],
    ["#!/usr/bin/env bash\n", { kind: "shell", shell: "/usr/bin/env bash" }],
    ["#! /bin/sh\r\n", { kind: "program" }],
    ["#!/usr/bin/python3\n", { kind: "program" }],
    ["#!/usr/bin/env -S bash -e\n", { kind: "program" }],
    ["#!/bin/sh; rm -rf /\n", { kind: "program" }],
    ["", { kind: "program" }],
  ])("%j is run as its first line says", (text, kept) => {
    expect(keptHook(text)).toEqual(kept);
  });

  test("any text is one word to the shell", async () => {
    const text = fc
      .string({ unit: "binary", maxLength: 40 })
      .filter((value) => !/[\0\uD800-\uDFFF]/.test(value));
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        expect((await run("sh", ["-c", `printf %s ${quoted(value)}`])).stdout).toBe(value);
      }),
      { numRuns: 30 },
    );
  });
});
