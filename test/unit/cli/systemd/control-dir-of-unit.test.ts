import { expect, test } from "vitest";
import { controlDirOfUnit, controlDirToLeave } from "../../../../src/cli/systemd/command.ts";
import { cliOf } from "../run-cli.ts";

test("the control directory of the machine's unit is that of its own user, whoever's HOME sudo has kept", async () => {
  const unit = "[Service]\nExecStart=/usr/bin/ttyhq session-host\n";
  const cli = cliOf([], { home: "/home/ada" });
  expect(await controlDirOfUnit(unit, "system", cli)).toBe("/root/.ttyhq");
  expect(await controlDirOfUnit(unit, "user", cli)).toBe("/home/ada/.ttyhq");
});

test("a unit whose configuration file is gone is uninstalled if its programs may end", async () => {
  const unit = "[Service]\nExecStart=/usr/bin/ttyhq session-host --config /no/config.yaml\n";
  const cli = cliOf([]);
  await expect(controlDirToLeave(unit, { scope: "user", mayEnd: false }, cli)).rejects.toThrow(
    /ENOENT.*\nso it is unknown whether programs run: .*--end-sessions/,
  );
  expect(await controlDirToLeave(unit, { scope: "user", mayEnd: true }, cli)).toBeUndefined();
});
