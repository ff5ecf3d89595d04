import { expect, test } from "vitest";
import { ran } from "../run-cli.ts";

test.each(["--wait", "--timeout"])("health %s names both of its limits", async (flag) => {
  for (const seconds of ["0", "7200"]) {
    const { exitCode, stderr } = await ran(["health", flag, seconds]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      `'${seconds}' is invalid. It must be a number of seconds above 0, at most 3600.`,
    );
  }
});

test.each([
  [["--url", "ftp://x"], 1, /^ttyhq: --url must be an http or https address/],
  [["--config", "/no/such/file.yaml"], 2, /^ttyhq: --config: cannot read the file/],
  [["--session-host", "--url", "http://x"], 1, /^ttyhq: --session-host is asked by its control directory/],
])("health --wait ends at once at an error that no start mends: %j", async (flags, code, message) => {
  const started = performance.now();
  const { exitCode, stderr } = await ran(["health", "--wait", "60", ...flags]);
  expect(exitCode).toBe(code);
  expect(stderr).toMatch(message);
  expect(performance.now() - started).toBeLessThan(30_000);
});
