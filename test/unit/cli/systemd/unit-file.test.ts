import { expect, test } from "vitest";
import { placeOf } from "../../../../src/cli/systemd/plan.ts";
import { hostUnit, serverUnit, type UnitPlan } from "../../../../src/cli/systemd/unit-file.ts";

const PLAN: UnitPlan = {
  note: "Made for a test.",
  scope: "system",
  program: ["/usr/bin/node", "/opt/my ttyhq/main.js"],
  serverFlags: ["--config", "/etc/ttyhq/config.yaml", "--port", "81"],
  hostFlags: ["--config", "/etc/ttyhq/config.yaml"],
  clientFlags: ["--config", "/etc/ttyhq/config.yaml"],
  runAs: undefined,
  graceMs: 20_000,
};

const lines = (text: string): readonly string[] => text.split("\n");

test("the server starts no session host, and counts as started when it answers", () => {
  const unit = lines(serverUnit(PLAN));
  expect(unit).toContain(
    'ExecStart=/usr/bin/node "/opt/my ttyhq/main.js" serve --config /etc/ttyhq/config.yaml --port 81 --session-host external',
  );
  expect(unit).toContain(
    'ExecStartPost=/usr/bin/node "/opt/my ttyhq/main.js" health --config /etc/ttyhq/config.yaml --wait 60',
  );
  expect(unit).toContain("WantedBy=multi-user.target");
});

test("a stop or restart of the server does not affect the session host's unit", () => {
  const server = serverUnit(PLAN);
  for (const tie of ["Requires=", "BindsTo=", "PartOf="]) {
    expect(server).not.toContain(tie);
    expect(hostUnit(PLAN)).not.toContain(tie);
  }
  expect(server).toContain("Wants=ttyhq-session-host.service");
  expect(hostUnit(PLAN)).not.toContain("ttyhq.service");
});

test("systemd waits longer than server and programs may take to stop", () => {
  for (const [graceMs, seconds] of [
    [20_000, 90],
    [600_000, 615],
  ] as const) {
    const plan = { ...PLAN, graceMs };
    for (const unit of [serverUnit(plan), hostUnit(plan)])
      expect(lines(unit)).toContain(`TimeoutStopSec=${seconds}`);
  }
});

test("the session host's unit takes no rights from the programs of users", () => {
  const settings = lines(hostUnit(PLAN)).filter((line) => /^[A-Z]\w+=/.test(line));
  const taken = /^(Protect|Private|Restrict|No|Capab|SystemCall|Lock|UMask|Limit)/;
  expect(settings.filter((line) => taken.test(line) && !line.startsWith("Restart"))).toEqual([]);
  expect(settings).toContain("OOMPolicy=continue");
});

test("a server of another user gets no setting that blocks the setuid helper for passwords", () => {
  const implied =
    /^(NoNewPrivileges|SystemCall|RestrictAddressFamilies|RestrictNamespaces|RestrictRealtime|RestrictSUIDSGID|PrivateDevices|ProtectKernel|ProtectClock|ProtectHostname|LockPersonality|MemoryDeny|DynamicUser)/m;
  expect(serverUnit(PLAN)).toMatch(implied);
  const asUser = serverUnit({ ...PLAN, runAs: "ann" });
  expect(asUser).not.toMatch(implied);
  expect(asUser).toContain("User=ann\n");
});

test("a user's own service needs nothing of root", () => {
  for (const text of [serverUnit({ ...PLAN, scope: "user" }), hostUnit({ ...PLAN, scope: "user" })]) {
    expect(text).not.toMatch(/^(User|StateDirectory|Protect|Capab|Restrict)/m);
    expect(text).toContain("WantedBy=default.target");
    expect(text).not.toContain("network-online");
  }
});

test("the files of a user's service follow the XDG directories", () => {
  const home = "/home/me";
  expect(placeOf("user", { home, env: {} })).toMatchObject({
    serverUnit: "/home/me/.config/systemd/user/ttyhq.service",
    configFile: "/home/me/.config/ttyhq/config.yaml",
  });
  expect(placeOf("user", { home, env: { XDG_CONFIG_HOME: "/x" } }).hostUnit).toBe(
    "/x/systemd/user/ttyhq-session-host.service",
  );
  // As systemd does.
  expect(placeOf("user", { home, env: { XDG_CONFIG_HOME: "relative" } })).toEqual(
    placeOf("user", { home, env: {} }),
  );
  expect(placeOf("system", { home, env: {} })).toMatchObject({
    serverUnit: "/etc/systemd/system/ttyhq.service",
    configFile: "/etc/ttyhq/config.yaml",
  });
});
