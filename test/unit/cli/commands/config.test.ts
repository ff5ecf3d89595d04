import { chmodSync, mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { ran } from "../run-cli.ts";

const Report = z.object({
  settings: z.array(
    z.object({
      name: z.string(),
      value: z.unknown().optional(),
      source: z.looseObject({ kind: z.string() }),
    }),
  ),
  problems: z.array(z.string()),
  warnings: z.array(z.string()),
});

/** A directory with a configuration file, and what is there after `use`. */
async function withFile(text: string, use: (path: string) => Promise<void>): Promise<void> {
  using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-config-"));
  const path = join(dir.path, "config.yaml");
  writeFileSync(path, text, { mode: 0o600 });
  await use(path);
  expect(readdirSync(dir.path)).toEqual(["config.yaml"]);
}

test("config prints every option with its value and where it comes from, and starts nothing", () =>
  withFile(
    "port: 81\nno-auth: true\nbind: 127.0.0.1\njwt-secret: hunter2hunter2hunter2hunter2hunter2\n",
    async (path) => {
      const { exitCode, stdout, stderr } = await ran(["config", "--config", path, "--debug"], {
        env: { TTYHQ_PORT: "82" },
      });
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      const rows = stdout.split("\n").map((line) => line.split(/ {2,}/));
      expect(rows[0]).toEqual(["OPTION", "VALUE", "FROM"]);
      expect(rows).toContainEqual(["port", "82", "TTYHQ_PORT"]);
      expect(rows).toContainEqual(["debug", "true", "--debug"]);
      expect(rows).toContainEqual(["bind", "127.0.0.1", `${path}:3:7`]);
      expect(rows).toContainEqual(["jwt-secret", "(set)", `${path}:4:13`]);
      expect(rows).toContainEqual(["session-host", "apart", "default"]);
      expect(stdout).not.toContain("hunter2");
    },
  ));

test("config --json prints the settings, and hides secrets too", () =>
  withFile("hq: true\nusername: fleet\npassword: hunter2\n", async (path) => {
    const { stdout } = await ran(["config", "--json", "--config", path]);
    expect(stdout).not.toContain("hunter2");
    const { settings, problems } = Report.parse(JSON.parse(stdout));
    expect(problems).toEqual([]);
    expect(settings.find(({ name }) => name === "username")).toEqual({
      ...{ name: "username", value: "fleet" },
      source: { kind: "file", name: "username", path, line: 2, column: 11 },
    });
  }));

test("config exits with 2 and the messages of serve when a server would not start", () =>
  withFile("port: x\nhq-url: http://hq\n", async (path) => {
    const args = ["--config", path, "--bind", "a:1"];
    const told = await ran(["serve", ...args]);
    expect(told).toMatchObject({ exitCode: 2, stdout: "" });
    expect(await ran(["config", "--check", ...args])).toEqual(told);
    const { exitCode, stdout, stderr } = await ran(["config", ...args]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: told.stderr });
    expect(stdout).toContain("OPTION");
  }));

test("config --check prints only problems", () =>
  withFile("port: 81\n", async (path) => {
    expect(await ran(["config", "--check", "--config", path])).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "",
    });
  }));

test("a missing or invalid configuration file is reported with the flag or variable that names it", async () => {
  const none = await ran(["config", "--check", "--config", "/no/such.yaml"]);
  expect(none).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("--config: cannot read the file: ENOENT"),
  });
  const { stderr } = await ran(["serve"], { env: { TTYHQ_CONFIG: tmpdir() } });
  expect(stderr).toContain("TTYHQ_CONFIG: cannot read the file: EISDIR");
});

test("an endless file is read only up to the limit", async () => {
  const { exitCode, stderr } = await ran(["config", "--check", "--config", "/dev/zero"]);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: "ttyhq: /dev/zero: has more than 65536 bytes\n",
  });
});

test("other commands find the server by the control directory of the configuration file", () =>
  withFile("control-dir: here\n", async (path) => {
    const controlDir = join(path, "../here");
    const nobody = `ttyhq: no server answers in ${controlDir}; start one with`;
    expect((await ran(["ls", "--config", path])).stderr).toContain(nobody);
    expect((await ran(["ls"], { env: { TTYHQ_CONFIG: path } })).stderr).toContain(nobody);
    const nearer = await ran(["ls", "--config", path, "--control-dir", "/no/where"]);
    expect(nearer.stderr).toContain("no server answers in /no/where;");
    const variable = await ran(["ls", "--config", path], { env: { TTYHQ_CONTROL_DIR: "/no/where" } });
    expect(variable.stderr).toContain("no server answers in /no/where;");
  }));

test("service install --dry-run prints what would be written, with absolute paths, and writes nothing", async () => {
  using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-config-"));
  const cwd = dir.path;
  const args = [
    "service",
    "install",
    "--user",
    "--dry-run",
    "--audit-log",
    "a.log",
    "--debug",
    "--bind",
    "::1",
  ];
  const { exitCode, stdout, stderr } = await ran(args, { home: cwd, cwd });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const config = `--config ${cwd}/.config/ttyhq/config.yaml`;
  expect(stdout).toContain(
    `serve ${config} --bind ::1 --audit-log ${cwd}/a.log --debug --session-host external\n`,
  );
  expect(stdout).toContain(`session-host ${config} --debug\n`);
  expect(readdirSync(cwd)).toEqual([]);
});

test.each([
  [
    ["--hq", "--username", "a", "--password", "hunter2"],
    "--password: everybody on this machine can read the unit",
  ],
  [["--session-host", "inline"], "session-host: the service has a session host of its own"],
  [["--port", "x"], '--port: must be a whole number from 0 to 65535, not "x"'],
  [["--user", "--run-as", "root"], "--run-as is for the machine's service"],
  [["--run-as", "no such user"], '--run-as: there is no user "no such user" here'],
  [["--config", "/no/such.yaml"], "--config: cannot read the file: ENOENT"],
])("service install %j is rejected", async (args, sentence) => {
  const { exitCode, stdout, stderr } = await ran(["service", "install", "--dry-run", ...args]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toContain(sentence);
  expect(stderr).not.toContain("hunter2");
});

test("service install warns that variables of the shell do not reach the service", async () => {
  const env = { TTYHQ_PORT: "x", SERVICE_PASSWORD: "hunter2", XDG_CONFIG_HOME: "/no/where" };
  const { exitCode, stdout, stderr } = await ran(["service", "install", "--user", "--dry-run"], { env });
  expect(exitCode).toBe(0);
  expect(stderr).toContain("warning: TTYHQ_PORT and SERVICE_PASSWORD: set here, but not for the service");
  expect(stdout + stderr).not.toContain("hunter2");
});

test("a secret's file, a key or a configuration file that others could replace is rejected with a remedy", () =>
  withFile("jwt-secret-file: config.yaml\n", async (path) => {
    chmodSync(path, 0o646);
    const own = await ran(["serve", "--config", path]);
    expect(own).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`mode 0646) is writable by others: chmod go-w ${path}`),
    });
    chmodSync(path, 0o600);
    chmodSync(dirname(path), 0o777);
    const way = `is writable by others, who could exchange ${path}: chmod go-w ${dirname(path)}`;
    for (const flag of ["--config", "--jwt-secret-file", "--tls-key", "--hq-ca"]) {
      const { exitCode, stderr } = await ran(["serve", flag, path]);
      expect({ flag, exitCode, isTold: stderr.includes(way) }).toEqual({ flag, exitCode: 2, isTold: true });
    }
    chmodSync(dirname(path), 0o700);
  }));
