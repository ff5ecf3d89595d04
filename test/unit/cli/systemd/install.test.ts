import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { install } from "../../../../src/cli/systemd/installation.ts";
import type { ServicePlan } from "../../../../src/cli/systemd/plan.ts";
import { HOST_UNIT, SERVER_UNIT } from "../../../../src/cli/systemd/unit-file.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

const START_US = 1_000_000n;
const STARTED = "ExecMainStartTimestampMonotonic";

/** A systemd whose units run since the boot. */
class FakeSystemctl {
  readonly restarted: string[] = [];
  canEnable = true;
  /** In µs since the boot. */
  readonly #started = new Map([SERVER_UNIT, HOST_UNIT].map((unit) => [unit, 0n]));

  async run(verb: string, unit = ""): Promise<string> {
    if (verb === "enable" && !this.canEnable) throw new ServiceError("start_failed", "refused");
    if (verb !== "restart") return "";
    this.restarted.push(unit);
    // A start takes a while.
    this.#started.set(unit, now() + START_US);
    return "";
  }

  async ask() {
    return { code: 0, stdout: "", stderr: "" };
  }

  async properties(unit: string): Promise<ReadonlyMap<string, string>> {
    return new Map([[STARTED, String(this.#started.get(unit))]]);
  }

  async log(): Promise<readonly string[]> {
    return [];
  }
}

function now(): bigint {
  return process.hrtime.bigint() / 1_000n;
}

function planIn(directory: string): ServicePlan {
  const configFile = join(directory, "config.yaml");
  return {
    place: {
      ...{ serverUnit: join(directory, SERVER_UNIT), hostUnit: join(directory, HOST_UNIT) },
      ...{ configFile, firstConfig: "" },
    },
    unit: {
      ...{ note: "", scope: "system", program: ["ttyhq"], runAs: undefined, graceMs: 1_000 },
      ...{ serverFlags: [], hostFlags: [], clientFlags: [] },
    },
    ...{ isNewConfig: false, account: undefined, notices: [] },
  };
}

test.each([
  ["system", "; systemctl restart ttyhq-session-host applies"],
  ["user", "; systemctl --user restart ttyhq-session-host applies"],
] as const)(
  "the command that restarts a running session host is that of its manager: %s",
  async (scope, text) => {
    using directory = mkdtempDisposableSync(join(tmpdir(), "ttyhq-units-"));
    const plan = planIn(directory.path);
    const lines: string[] = [];
    const tell = (line: string): void => void lines.push(line);
    await install({ ...plan, unit: { ...plan.unit, scope } }, new FakeSystemctl(), tell);
    expect(lines.at(-1)).toContain(text);
  },
);

test("an install whose predecessor failed before the restart makes up for it, once", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "ttyhq-units-"));
  const systemctl = new FakeSystemctl();
  const installed = async (): Promise<readonly string[]> => {
    const lines: string[] = [];
    await install(planIn(directory.path), systemctl, (line) => lines.push(line));
    return lines;
  };
  systemctl.canEnable = false;
  await expect(installed()).rejects.toThrow("refused");
  systemctl.canEnable = true;
  expect(await installed()).toContainEqual(
    expect.stringContaining("keeps its programs and its former settings"),
  );
  expect(systemctl.restarted).toEqual([SERVER_UNIT]);
  await installed();
  expect(systemctl.restarted).toEqual([SERVER_UNIT]);
});
