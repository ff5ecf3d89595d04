import { mkdir, mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ttyhq } from "./harness/command.ts";
import { ask } from "./harness/http.ts";
import { Installation } from "./harness/installation.ts";
import { TestServer } from "./harness/test-server.ts";

/** A configuration file in addition to the harness's flags. */
async function writeConfig(directory: string, text: string, mode = 0o600): Promise<string> {
  const path = join(directory, "config.yaml");
  await writeFile(path, text, { mode });
  return path;
}

test("a server uses its configuration file, and commands find it by that file", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-config-"));
  const { path } = directory;
  await mkdir(join(path, "c"));
  const config = await writeConfig(
    path,
    "service-username: admin\nservice-password: s3cret\nmax-recording-size: 5kB\ncontrol-dir: c\naudit-log: deeds.log\n",
  );
  await using server = await TestServer.start({ args: ["--config", config], controlDir: join(path, "c") });
  const login = { body: { username: "admin", password: "s3cret" } };
  expect((await ask(server.url, "/api/auth/token", login)).status).toBe(200);
  expect(await readdir(path)).toContain("deeds.log");

  expect(await ttyhq(["health", "--wait", "30", "--config", config])).toMatchObject({ code: 0, stderr: "" });
  const started = await ttyhq(["run", "--detach", "--config", config, "--", "seq", "100000"]);
  expect(started).toMatchObject({ code: 0, stderr: "" });
  const listed = await ttyhq(["ls"], { TTYHQ_CONFIG: config });
  expect(listed.stdout).toContain(started.stdout.trim());
});

test("a session host that ttyhq run starts has the file's options", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-config-"));
  const config = await writeConfig(directory.path, "control-dir: c\nlog-format: text\ndebug: true\n");
  await using host = new Installation(join(directory.path, "c"));
  const { code, stdout } = await ttyhq(["run", "--config", config, "--", "echo", "said"]);
  expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: "said" });
  expect(await readdir(host.directory)).toContain("sessions");
});

test("a world-readable file is refused if it has a secret", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-config-"));
  const config = await writeConfig(directory.path, `jwt-secret: ${"s".repeat(32)}\n`, 0o644);
  const refused = await ttyhq(["serve", "--config", config]);
  expect(refused).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(`chmod o-r ${config}`),
  });
  expect(await ttyhq(["config", "--check", "--config", config])).toEqual(refused);
});

test("waiting for a server ends in time, with a message that there is none", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-config-"));
  const { code, stderr } = await ttyhq(["health", "--wait", "0.5", "--control-dir", directory.path]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^ttyhq: .*ENOENT.*server\.sock/);
});

test("the token for another machine's server may be in a file", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-config-"));
  await using server = await TestServer.start({
    args: [],
    env: { SERVICE_USERNAME: "admin", SERVICE_PASSWORD: "s3cret" },
  });
  const login = { body: { username: "admin", password: "s3cret" } };
  const { token } = JSON.parse((await ask(server.url, "/api/auth/token", login)).text);
  const file = join(directory.path, "token");
  await writeFile(file, `${token}\n`);
  const ls = ["ls", "--json", "--url", server.url];
  expect(await ttyhq(ls, { TTYHQ_TOKEN_FILE: file })).toMatchObject({ code: 0, stdout: "[]\n" });
  expect((await ttyhq(ls)).code).toBe(1);
  expect(await ttyhq(ls, { TTYHQ_TOKEN_FILE: file, TTYHQ_TOKEN: "x" })).toMatchObject({
    ...{ code: 2, stderr: "ttyhq: TTYHQ_TOKEN and TTYHQ_TOKEN_FILE are both set: set one of them\n" },
  });
});
