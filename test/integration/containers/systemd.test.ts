import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { PrintedSession } from "../harness/printed-session.ts";
import { ROOT } from "./built-image.ts";
import { BUILD_TIMEOUT_MS, docker } from "./docker.ts";
import { SystemdMachine, systemdImage } from "./systemd-machine.ts";

const LIMIT_MS = 600_000;
const CONFIG = "/etc/ttyhq/config.yaml";
const UNITS = ["/etc/systemd/system/ttyhq-session-host.service", "/etc/systemd/system/ttyhq.service"];
const INSTALL = ["service", "install", "--bind", "127.0.0.1", "--no-auth"];
const RUNNING = "ttyhq.service and ttyhq-session-host.service run, now and after every start of the machine";

beforeAll(systemdImage, BUILD_TIMEOUT_MS);

async function sessionsOf(machine: SystemdMachine): Promise<readonly PrintedSession[]> {
  await machine.output("ttyhq", "health", "--wait", "60", "--config", CONFIG);
  return z
    .array(PrintedSession)
    .parse(JSON.parse(await machine.output("ttyhq", "ls", "--json", "--config", CONFIG)));
}

/** A session with an endless program. */
async function startProgram(machine: SystemdMachine): Promise<PrintedSession> {
  const words = [
    "ttyhq",
    "run",
    "--detach",
    "--json",
    "--config",
    CONFIG,
    "--",
    "sh",
    "-c",
    "while :; do date; sleep 0.2; done",
  ];
  return PrintedSession.parse(JSON.parse(await machine.output(...words)));
}

/** The program runs, and its output is still recorded. */
async function expectAlive(machine: SystemdMachine, { id, pid }: PrintedSession): Promise<void> {
  const [record] = await sessionsOf(machine);
  expect(record).toMatchObject({ id, pid, status: "running" });
  const grown = async (): Promise<true | undefined> =>
    ((await sessionsOf(machine))[0]?.outputBytes ?? 0) > (record?.outputBytes ?? 0) ? true : undefined;
  await eventually(grown, "more output");
}

test("an installed service outlives restarts, kills and upgrades of the server with its programs, and is gone when it is uninstalled", {
  timeout: LIMIT_MS,
}, async () => {
  await using machine = await SystemdMachine.start();
  const first = await machine.ttyhq(...INSTALL);
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout.split("\n")).toEqual([...[CONFIG, ...UNITS].map((path) => `wrote ${path}`), RUNNING]);
  expect(
    await machine.run("systemd-analyze", "verify", "ttyhq.service", "ttyhq-session-host.service"),
  ).toEqual({
    ...{ code: 0, stdout: "", stderr: "" },
  });
  const program = await startProgram(machine);

  await machine.output("systemctl", "restart", "ttyhq");
  await expectAlive(machine, program);

  const pid = await machine.property("ttyhq", "MainPID");
  await machine.output("kill", "-9", pid);
  const restarted = async (): Promise<true | undefined> =>
    ![pid, "0"].includes(await machine.property("ttyhq", "MainPID")) ? true : undefined;
  await eventually(restarted, "another server");
  await expectAlive(machine, program);
  expect((await machine.ttyhq("service", "status")).code).toBe(0);

  const second = await machine.ttyhq(...INSTALL);
  expect(second.stdout.split("\n")).toEqual([...UNITS.map((path) => `${path} is as it has to be`), RUNNING]);
  const third = await machine.ttyhq(...INSTALL, "--port", "5000", "--debug");
  expect(third.stdout).toContain("keeps its programs and its former settings; systemctl restart");
  expect(
    await machine.sh(
      "node --eval 'fetch(\"http://127.0.0.1:5000/api/health\").then((a) => console.log(a.status))'",
    ),
  ).toBe("200");
  await expectAlive(machine, program);

  const host = await machine.property("ttyhq-session-host", "MainPID");
  await machine.output("kill", "-9", host);
  const lost = async (): Promise<true | undefined> => {
    const sessions = await sessionsOf(machine).catch(() => undefined);
    return sessions?.[0]?.exitReason === "host_lost" ? true : undefined;
  };
  await eventually(lost, "another session host");
  const next = await startProgram(machine);

  const refused = await machine.ttyhq("service", "uninstall");
  expect(refused).toMatchObject({
    code: 1,
    stderr: "ttyhq: a program runs in a session of /var/lib/ttyhq: --end-sessions ends them",
  });
  await expectAlive(machine, next);
  const { stdout } = await machine.ttyhq("service", "uninstall", "--end-sessions");
  expect(stdout.split("\n")).toEqual([
    ...UNITS.toReversed().map((path) => `removed ${path}`),
    `removed ${CONFIG}`,
    "recordings and keys stay in /var/lib/ttyhq",
  ]);
  expect(
    await machine.sh(
      "find /etc -name '*ttyhq*' -not -path '/etc/pam.d/*'; pgrep -f [t]tyhq/dist || true; systemctl list-units --all --no-legend '*ttyhq*'",
    ),
  ).toBe("");
  expect((await machine.ttyhq("service", "status")).code).toBe(1);
  expect(await machine.ttyhq("service", "uninstall")).toMatchObject({
    code: 0,
    stdout: "nothing is installed",
  });
});

test("the units for packages are right", { timeout: LIMIT_MS }, async () => {
  await using machine = await SystemdMachine.start();
  await machine.sh("ln -s /usr/local/bin/ttyhq /usr/bin/ttyhq");
  await docker("cp", `${ROOT}packaging/systemd`, `${machine.name}:/etc/packaged`);
  for (const [folder, ...scope] of [["system"], ["user", "--user"]]) {
    const units = ["ttyhq.service", "ttyhq-session-host.service"].map(
      (unit) => `/etc/packaged/${folder}/${unit}`,
    );
    expect(
      await machine.run("env", "XDG_RUNTIME_DIR=/run", "systemd-analyze", "verify", ...scope, ...units),
    ).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
  }
});

test("the service starts with the machine, with credentials of systemd, and a wrong configuration stops it without a loop", {
  timeout: LIMIT_MS,
}, async () => {
  await using machine = await SystemdMachine.start();
  await machine.sh(`mkdir -p /etc/ttyhq && umask 077 && printf 'bind: 127.0.0.1\\nprot: 1\\n' > ${CONFIG}`);
  expect(await machine.ttyhq("service", "install")).toEqual({
    ...{ code: 2, stdout: "" },
    stderr: `ttyhq: ${CONFIG}:2:1: there is no option "prot"; did you mean port?`,
  });
  expect(await machine.sh("ls /etc/systemd/system/ttyhq* 2>/dev/null || true")).toBe("");

  await machine.sh(
    `printf 'control-dir: /var/lib/ttyhq\\nservice-username: admin\\nport: 4030\\n' > ${CONFIG}`,
  );
  await machine.sh(
    "umask 077; printf s3cret > /etc/ttyhq/password; mkdir -p /etc/systemd/system/ttyhq.service.d; " +
      "printf '[Service]\\nLoadCredential=password:/etc/ttyhq/password\\nEnvironment=SERVICE_PASSWORD_FILE=%%d/password\\n' > /etc/systemd/system/ttyhq.service.d/password.conf",
  );
  // The installing user has no such variable, so half of the pair seems to be missing.
  expect((await machine.ttyhq("service", "install")).stderr).toContain("service-username is set without");
  await machine.sh(
    `sed -i /service-username/d ${CONFIG}; echo Environment=SERVICE_USERNAME=admin >> /etc/systemd/system/ttyhq.service.d/password.conf`,
  );
  expect(await machine.ttyhq("service", "install")).toMatchObject({ code: 0 });
  const login = `fetch("http://127.0.0.1:4030/api/auth/token", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ username: "admin", password: "s3cret" }) }).then((a) => console.log(a.status))`;
  expect(await machine.output("node", "--eval", login)).toBe("200");

  await machine.restart();
  await machine.output("ttyhq", "health", "--wait", "60", "--config", CONFIG);
  expect(await machine.output("node", "--eval", login)).toBe("200");

  await machine.sh(`echo 'bind: a:b' >> ${CONFIG}`);
  expect((await machine.run("systemctl", "restart", "ttyhq")).code).toBe(1);
  expect(await machine.property("ttyhq", "ActiveState")).toBe("failed");
  expect(await machine.property("ttyhq", "NRestarts")).toBe("0");
  // The journal may have the line after the end of its process.
  const isSaid = async (): Promise<true | undefined> =>
    (await machine.sh("journalctl --unit ttyhq --output cat")).includes(
      `${CONFIG}:3:7: bind: must be an address`,
    ) || undefined;
  await eventually(isSaid, "the reason in the journal");
});

/** Runs in the machine: ann logs in with the system's password, runs a program and requests a repository. */
const AS_ANN = `
const call = async (path, body, token = "") => {
  const headers = { "content-type": "application/json", authorization: "Bearer " + token };
  const answer = await fetch("http://127.0.0.1:4020" + path, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(path + ": " + (await answer.text()));
  return await answer.json();
};
const { token } = await call("/api/auth/token", { username: "ann", password: "pa55" });
await call("/api/sessions", { command: ["sh", "-c", "id -un > /tmp/by-ann"] }, token);
const { worktrees } = await call("/api/worktrees?repoPath=/home/ann/repo", undefined, token);
console.log(worktrees.map(({ branch }) => branch).join());
`;

test("the hardened service of root logs users of the system in, and runs programs and git as them", {
  timeout: LIMIT_MS,
}, async () => {
  await using machine = await SystemdMachine.start();
  await machine.sh("useradd --uid 2000 --create-home --shell /bin/bash ann; echo ann:pa55 | chpasswd");
  await machine.sh("runuser -u ann -- git init --quiet --initial-branch trunk /home/ann/repo");
  await machine.sh(
    "cd /home/ann/repo; runuser -u ann -- git -c user.name=ann -c user.email=a@b commit --quiet --allow-empty -m first",
  );
  expect(await machine.ttyhq("service", "install", "--bind", "127.0.0.1")).toMatchObject({ code: 0 });
  expect(await machine.output("node", "--input-type=module", "--eval", AS_ANN)).toBe("refs/heads/trunk");
  const who = async (): Promise<string> =>
    await machine.sh("stat -c %U /tmp/by-ann && cat /tmp/by-ann || true");
  await eventually(async () => ((await who()) === "ann\nann" ? true : undefined), "the program of ann");
});

test("the service of another user than root, and that of a user's own systemd, run programs as that user", {
  timeout: LIMIT_MS,
}, async () => {
  await using machine = await SystemdMachine.start();
  await machine.sh("useradd --uid 2000 --create-home --shell /bin/bash ann");
  expect(await machine.ttyhq(...INSTALL, "--run-as", "ann")).toMatchObject({ code: 0 });
  expect(await machine.sh(`stat -c '%U:%G %a' ${CONFIG} /var/lib/ttyhq`)).toBe("root:ann 640\nann:ann 700");
  const asAnn = (...words: readonly string[]) =>
    machine.run(
      "runuser",
      "--user",
      "ann",
      "--",
      "env",
      "XDG_RUNTIME_DIR=/run/user/2000",
      "HOME=/home/ann",
      ...words,
    );
  await asAnn("ttyhq", "run", "--detach", "--config", CONFIG, "--", "sh", "-c", "id -un > /tmp/who");
  await eventually(
    async () => ((await machine.sh("cat /tmp/who || true")) === "ann" ? true : undefined),
    "the program",
  );
  expect(await machine.ttyhq("service", "uninstall", "--end-sessions")).toMatchObject({ code: 0 });

  const alone = await asAnn("ttyhq", "service", "install");
  expect(alone).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("root's: run this with sudo, or give --user"),
  });
  const without = await asAnn("ttyhq", "service", "install", "--user");
  expect(without).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no systemd of this user runs here"),
  });

  await machine.output("systemctl", "start", "user@2000");
  const own = await asAnn("ttyhq", ...INSTALL, "--user", "--port", "4040");
  expect(own).toMatchObject({ code: 0, stdout: expect.stringContaining("loginctl enable-linger") });
  expect((await asAnn("ttyhq", "health", "--control-dir", "/home/ann/.ttyhq")).code).toBe(0);
  expect((await asAnn("ttyhq", "service", "status", "--user", "--json")).stdout).toContain(
    '"state": "active"',
  );
  expect(await asAnn("ttyhq", "service", "uninstall", "--user")).toMatchObject({ code: 0 });
  expect(await machine.sh("find /home/ann/.config -type f")).toBe("");
});
