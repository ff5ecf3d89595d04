import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ran } from "./run-cli.ts";

const messages = (stderr: string): readonly unknown[] =>
  stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .map(({ level, message }) => [level, message]);

test("configuration errors of a service have the format of the log, from whatever source it is set", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "ttyhq-stderr-format-"));
  const config = join(folder.path, "config.yaml");
  writeFileSync(config, "log-format: json\nport: x\n", { mode: 0o600 });
  const wrong = [["error", expect.stringContaining("must be a whole number")]];
  for (const [argv, env] of [
    [["serve", "--no-auth", "--port", "x", "--log-format", "json"], {}],
    [["--no-auth", "--port", "x", "--log-format=json"], {}],
    [["serve", "--no-auth", "--port", "x"], { TTYHQ_LOG_FORMAT: "json" }],
    [["serve", "--no-auth", "--config", config], {}],
    [["session-host", "--grace", "1s"], { TTYHQ_LOG_FORMAT: "json", TTYHQ_MAX_RECORDING_SIZE: "x" }],
  ] as const) {
    const { exitCode, stderr } = await ran(argv, { env });
    const expected = argv[0] === "session-host" ? [["error", expect.stringContaining("must be")]] : wrong;
    expect([exitCode, messages(stderr)]).toEqual([2, expected]);
  }
});

test("an unknown flag and a missing file are reported in this format too", async () => {
  const env = { TTYHQ_LOG_FORMAT: "json" };
  const unknown = await ran(["serve", "--prot", "1"], { env });
  expect(messages(unknown.stderr)[0]).toEqual(["error", expect.stringContaining("unknown option")]);
  const missing = await ran(["serve", "--config", "/no/such/file"], { env });
  expect(messages(missing.stderr)).toEqual([["error", expect.stringContaining("cannot read the file")]]);
});

test("other commands, and services without a JSON log, write plain text", async () => {
  expect((await ran(["serve", "--port", "x"])).stderr).toMatch(/^ttyhq: --port/);
  const env = { TTYHQ_LOG_FORMAT: "json" };
  expect((await ran(["serve", "--port", "x", "--log-format", "text"], { env })).stderr).toMatch(/^ttyhq: /);
  expect((await ran(["play", "/no/such/file"], { env })).stderr).toMatch(/^ttyhq: /);
});
