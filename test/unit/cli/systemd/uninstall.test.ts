import { existsSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { uninstall } from "../../../../src/cli/systemd/installation.ts";
import { HOST_UNIT, SERVER_UNIT } from "../../../../src/cli/systemd/unit-file.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

const DONE = { code: 0, stdout: "", stderr: "" };

test.each([SERVER_UNIT, HOST_UNIT])(
  "what an interrupted install or uninstall has left is uninstalled: %s alone",
  async (left) => {
    using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-units-"));
    const pathOf = (unit: string): string => join(dir.path, unit);
    writeFileSync(pathOf(left), "");
    const disabled: string[] = [];
    /** As systemctl, which disables no unit without a file. */
    const systemctl = {
      run: async (verb: string, ...words: readonly string[]) => {
        if (verb !== "disable") return "";
        const units = words.filter((word) => !word.startsWith("--"));
        const missing = units.find((unit) => !existsSync(pathOf(unit)));
        if (missing !== undefined)
          throw new ServiceError("start_failed", `Unit file ${missing} does not exist.`);
        disabled.push(...units);
        return "";
      },
      ask: async () => DONE,
    };
    const place = {
      ...{ serverUnit: pathOf(SERVER_UNIT), hostUnit: pathOf(HOST_UNIT) },
      ...{ configFile: pathOf("config.yaml"), firstConfig: "" },
    };
    const lines: string[] = [];
    await uninstall(place, systemctl, (line) => lines.push(line));
    expect(disabled).toEqual([left]);
    expect(lines).toEqual([`removed ${pathOf(left)}`]);
    expect(existsSync(pathOf(left))).toBe(false);
  },
);
