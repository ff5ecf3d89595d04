import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { optionsPage } from "../../../../scripts/options-page.ts";
import { parseConfig, parseHostConfig } from "../../../../src/config/config.ts";
import { ConfigError } from "../../../../src/config/config-error.ts";
import { envOf, type Option, spellingsOf } from "../../../../src/config/options/option.ts";
import { OPTIONS, optionsFor } from "../../../../src/config/options/options.ts";
import { isOwnVariable } from "../../../../src/lib/os/own-variables.ts";
import { input, serve } from "../command-line.ts";

test("a session host has the same configuration by the flags that its server derives", () => {
  for (const commandLine of [
    "--login-link",
    "--login-link --record-input --debug --max-recording-size 5kB --log-format text --control-dir x",
    "--grace 90s --keep-recordings 30d,10GB",
    "--keep-recordings 7d",
    "--keep-recordings 5GiB",
    "--host-socket run/host.sock",
  ]) {
    const { controlDir, hostSocket, recording, graceMs, log, hostFlags } = serve(commandLine);
    expect(parseHostConfig(input(hostFlags.join(" "), {}, "session-host"))).toMatchObject({
      controlDir,
      hostSocket,
      recording,
      graceMs,
      log,
      exitWhenIdle: false,
    });
  }
});

test("a session host gets the options that its server has from variables", () => {
  const env = {
    TTYHQ_RECORD_INPUT: "yes",
    TTYHQ_DEBUG: "no",
    TTYHQ_GRACE: "90s",
    TTYHQ_HOST_SOCKET: "h.sock",
  };
  const host = parseHostConfig(input(serve("", env).hostFlags.join(" "), {}, "session-host"));
  expect(host).toMatchObject({ graceMs: 90_000, hostSocket: "/work/h.sock", log: { level: "info" } });
  expect(host.recording.withInput).toBe(true);
});

test("a session host needs no login and refuses invalid values", () => {
  expect(parseHostConfig(input("", {}, "session-host")).controlDir).toBe("/home/me/.ttyhq");
  expect(() => parseHostConfig(input("", { TTYHQ_MAX_RECORDING_SIZE: "x" }, "session-host"))).toThrow(
    ConfigError,
  );
});

test("every option has a flag or a variable of its own, and prose that is a sentence", () => {
  const options = Object.values<Option>(OPTIONS);
  expect(new Set(options.map(envOf)).size).toBe(options.length);
  const flags = options
    .flatMap((option) => spellingsOf(option).map(({ flag }) => flag))
    .filter((flag) => flag !== undefined);
  expect(new Set(flags).size).toBe(flags.length);
  for (const { prose } of options) expect(prose).toMatch(/^[`A-Z].*[.]$/);
});

test("a server passes no option's variable to processes that it starts", () => {
  const names = Object.values<Option>(OPTIONS).flatMap(variablesOf);
  expect(names).toContain("SERVICE_PASSWORD_FILE");
  expect(names.filter((name) => !isOwnVariable(name))).toEqual([]);
  expect(["PATH", "SERVICE_PORT", "MY_TTYHQ_X"].filter(isOwnVariable)).toEqual([]);
});

test("docs/options.md matches the table", () => {
  expect(readFileSync(new URL("../../../../docs/options.md", import.meta.url), "utf8")).toBe(optionsPage());
});

test("every environment gives a configuration or sentences", () => {
  const bare = input("");
  const names = optionsFor("server").flatMap(variablesOf);
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("0", "1", "true", "a,b", "https://a", "9e9", "1GiB", "/x"),
  );
  return fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), text), (env) => {
      try {
        parseConfig({ ...bare, env });
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        for (const sentence of error.problems) expect(sentence.length).toBeGreaterThan(10);
      }
    }),
    { numRuns: 2_000 },
  );
});

function variablesOf(option: Option): readonly string[] {
  return spellingsOf(option).map(({ variable }) => variable);
}
