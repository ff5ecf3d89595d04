import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { controlDirOfUnit, controlDirToLeave } from "../../../../src/cli/systemd/command.ts";
import { fakeServer } from "../fake-server.ts";
import { record } from "../record.ts";
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

test("a unit that was edited is named if its ExecStart cannot be read, and uninstalled if its programs may end", async () => {
  const unit = String.raw`[Service]
ExecStart=/usr/bin/ttyhq session-host --control-dir "/srv/my\x20sessions"
`;
  const cli = cliOf([]);
  await expect(controlDirToLeave(unit, { scope: "user", mayEnd: false }, cli)).rejects.toThrow(
    /^ExecStart= of a unit: "\/srv\/my\\x20sessions" has an escape sequence .*\n.*--end-sessions/,
  );
  expect(await controlDirToLeave(unit, { scope: "user", mayEnd: true }, cli)).toBeUndefined();
});

test("a session host that fails does not keep its service from being uninstalled if its programs may end", async () => {
  const answers = [
    { status: 500, body: { error: "broken", code: "internal_error", details: {} } },
    { status: 200, body: [record({ id: "one" }), record({ id: "two", status: "exited" })] },
  ];
  await using host = await fakeServer(() => answers.shift() ?? { status: 500, body: {} });
  symlinkSync(join(host.controlDir, "server.sock"), join(host.controlDir, "host.sock"));
  const unit = `[Service]\nExecStart=/usr/bin/ttyhq session-host --control-dir ${host.controlDir}\n`;
  const leave = (mayEnd: boolean) => controlDirToLeave(unit, { scope: "user", mayEnd }, cliOf([]));
  expect(await leave(true)).toBe(host.controlDir);
  await expect(leave(false)).rejects.toThrow("broken");
  await expect(leave(false)).rejects.toThrow("a program runs in a session");
});
