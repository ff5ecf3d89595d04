import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { RunningServer } from "../../../src/app.ts";
import { createProgram, runCli } from "../../../src/cli/program.ts";
import type { Config } from "../../../src/config/config.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { fakeServer } from "./fake-server.ts";
import { cliOf, ran } from "./run-cli.ts";

const { commands } = await createProgram(cliOf([]), () => undefined);
const names = commands.map((command) => command.name());

describe("help", () => {
  test("names every command of the contract", () => {
    const wanted = [
      "serve",
      "session-host",
      "run",
      "attach",
      "ls",
      ...["kill", "logs", "rename", "share"],
      "play",
      "status",
      ...["machines", "cordon", "uncordon", "drain", "upgrade"],
      "health",
      ...["login", "login-link", "completion"],
      "enrolment-code",
      "up",
      ...["follow", "unfollow", "git", "config", "service", "join-token", "remote-key", "audit", "token"],
    ];
    expect(names.toSorted()).toEqual(wanted.toSorted());
  });

  test.each(names)("of %s is printed with examples and ends with 0", async (name) => {
    const { exitCode, stdout, stderr } = await ran([name, "--help"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain(`Usage: ttyhq ${name}`);
    expect(stdout).toContain("Examples:\n  ");
  });

  test.each([
    [["share"], "(default: 1h)"],
    [["drain"], "(default: 1h)"],
    [["join-token", "create"], "(default: 15m)"],
  ])("of %j shows the default time as it would be given", async (words, shown) => {
    const { stdout } = await ran([...words, "--help"]);
    expect(stdout).toContain(shown);
  });

  test("is printed even if TTYHQ_DETACH_KEYS is invalid", async () => {
    const env = { TTYHQ_DETACH_KEYS: "huh" };
    expect(await ran(["--help"], { env })).toMatchObject({ exitCode: 0, stderr: "" });
  });

  test("is printed without arguments, as a usage error", async () => {
    const { exitCode, stdout, stderr } = await ran([]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("Usage: ttyhq ");
  });

  test("and version are printed to standard output", async () => {
    expect(await ran(["--version"])).toEqual({ exitCode: 0, stdout: "1.2.3\n", stderr: "" });
    expect(await ran(["--help"])).toMatchObject({ exitCode: 0, stderr: "" });
  });
});

test.each([[["run", "true"]], [["attach", "a"]]])(
  "%j rejects invalid detach keys in the variable",
  async (argv) => {
    expect(await ran(argv, { env: { TTYHQ_DETACH_KEYS: "huh" } })).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: 'ttyhq: TTYHQ_DETACH_KEYS: must be keys such as ctrl-p,ctrl-q, or none, not "huh"\n',
    });
  },
);

describe("a usage error exits with 2 and is reported in one line", () => {
  test.each([
    [["bogus"], /^ttyhq: unknown command 'bogus'$/],
    [["atach", "x"], "unknown command 'atach'; did you mean `ttyhq attach`?"],
    [["rm", "x"], "unknown command 'rm'; did you mean `ttyhq kill`?"],
    [["lst"], "did you mean `ttyhq ls`?"],
    [["ls", "--bogus"], "unknown option '--bogus'"],
    [["ls", "extra"], "too many arguments for 'ls'. Expected 0 arguments but got 1: extra."],
    [["attach"], "missing required argument 'session'"],
    [["run"], "missing required argument 'command'"],
    [["run", "--json", "--", "true"], "--json is for --detach alone: give that, too, or leave it out"],
    [
      ["ls", "--url", "http://x", "--control-dir", "/d"],
      "--url and --control-dir name two servers: give one",
    ],
    [["kill", "--url", "http://x", "--config", "/c", "a"], "--url and --config name two servers: give one"],
    [["kill", "--signal", "SIGFOO", "a"], /'SIGFOO' is invalid\. It must be one of SIGHUP, /],
    [["play", "--speed", "0", "a"], /'0' is invalid\. It must be a number above 0/],
    [["audit", "list", "--since", "999999999999w"], /It must be a date, or a time ago/],
    [["attach", "--detach-keys", "huh", "a"], /'huh' is invalid\. It must be keys such as/],
    [["serve", "--port", "x"], '--port: must be a whole number from 0 to 65535, not "x"'],
  ])("%j", async (argv, message) => {
    const { exitCode, stdout, stderr } = await ran(argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    const [line = ""] = stderr.split("\n");
    expect(line.startsWith("ttyhq: ")).toBe(true);
    expect(line).toMatch(message);
  });
});

describe("without a server", () => {
  const RUN = ", or a program with `ttyhq run`";
  test.each([
    [RUN, "ls"],
    [RUN, "attach", "a"],
    [RUN, "kill", "a"],
    [RUN, "logs", "a"],
    [RUN, "rename", "a", "b"],
    ["", "share", "a"],
    [RUN, "health"],
    ["", "login-link"],
    [RUN, "follow", "feature"],
  ])("(hint %j) %s ends with 1 and says how to start one", async (hint, ...argv) => {
    using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-cli-"));
    const { exitCode, stdout, stderr } = await ran([...argv, "--control-dir", dir.path]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toBe(`ttyhq: no server answers in ${dir.path}; start one with \`ttyhq serve\`${hint}\n`);
  });

  test("unfollow examines the repository in this process", async () => {
    using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-cli-"));
    const { exitCode, stdout, stderr } = await ran(["unfollow", "--control-dir", dir.path]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(/^ttyhq: there is no git repository at /);
  });

  test("status reports it and exits with 1", async () => {
    using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-cli-"));
    const env = { TTYHQ_CONTROL_DIR: dir.path };
    const { exitCode, stdout } = await ran(["status", "--json"], { env });
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual({ controlDir: dir.path });
    expect((await ran(["status"], { env })).stdout).toContain("server             not running\n");
  });

  test("an unknown recording is reported as neither a file nor a session", async () => {
    using dir = mkdtempDisposableSync(join(tmpdir(), "ttyhq-cli-"));
    const { stderr } = await ran(["play", "demo.cast", "--control-dir", dir.path]);
    expect(stderr).toMatch(/^ttyhq: no file "demo.cast"; as a session: no server answers/);
  });

  test.each([[["ls", "--url", "ftp://x"]], [["login", "ftp://x"]]])(
    "an address that is none is refused: %j",
    async (argv) => {
      const { exitCode, stderr } = await ran(argv);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr: 'ttyhq: --url must be an http or https address, not "ftp://x"\n',
      });
    },
  );
});

test("a refusal for want of a login names the command that logs in", async () => {
  const body = { error: "log in first", code: "unauthorized", details: {} };
  await using server = await fakeServer(() => ({ status: 401, body }));
  expect(await ran(["ls", "--control-dir", server.controlDir])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "ttyhq: log in first; `ttyhq login` prints a token for TTYHQ_TOKEN\n",
  });
});

describe("a file is played", () => {
  const cast = '{"version":2,"width":80,"height":24}\n[0.001, "o", "hé"]\n[0.002, "o", "llo\\r\\n"]\n';

  test("from standard input", async () => {
    const stdin = new PassThrough();
    stdin.end(cast);
    expect(await ran(["play", "-"], { stdin })).toEqual({ exitCode: 0, stdout: "héllo\r\n", stderr: "" });
  });

  test("and rejected if it is not a recording", async () => {
    const stdin = new PassThrough();
    stdin.end("hello");
    expect(await ran(["play", "-"], { stdin })).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: "ttyhq: this is no asciicast v2 recording\n",
    });
  });
});

test("bash completes commands, their options, and the exact names of sessions", async () => {
  const { stdout: script } = await ran(["completion", "bash"]);
  const complete = (...words: readonly string[]): string => {
    const list = "ttyhq() { printf 'my build\\nother\\n'; }";
    const asked = `COMP_WORDS=(ttyhq "$@"); COMP_CWORD=$#; _ttyhq; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", `${list}\n${script}\n${asked}`, "bash", ...words], {
      encoding: "utf8",
    });
  };
  expect(complete("at")).toBe("attach\n");
  expect(complete("ls", "--fi")).toBe("--filter\n");
  expect(complete("attach", "my")).toBe("my\\ build\n");
  expect(complete("attach", "my\\ b")).toBe("my\\ build\n");
  expect(complete("attach", "none")).toBe("\n");
  expect((await ran(["completion", "fish"])).stdout).toContain("-a attach -d 'show a session");
  expect((await ran(["completion", "tcsh"])).stderr).toContain("use bash, zsh or fish");
});

test("bash completes a name of shell syntax as a word, and executes none of it", async () => {
  const { stdout: script } = await ran(["completion", "bash"]);
  const names = ["a$(echo executed)", "a;echo executed", "a`echo executed`"];
  const list = `ttyhq() { printf '%s\\n' ${names.map((name) => `'${name}'`).join(" ")}; }`;
  const evaluated = `eval "printf '%s\\n' \${COMPREPLY[*]}"`;
  const asked = `COMP_WORDS=(ttyhq attach a); COMP_CWORD=2; _ttyhq; ${evaluated}`;
  const completed = execFileSync("bash", ["-c", `${list}\n${script}\n${asked}`], { encoding: "utf8" });
  expect(completed.trimEnd().split("\n")).toEqual(names);
});

test.each([
  ["ENOSPC", 1, "ttyhq: ENOSPC, write\n"],
  ["EPIPE", 0, ""],
])("output that is refused with %s ends a command with %i", async (code, exitCode, message) => {
  const error = Object.assign(new Error(`${code}, write`), { code, syscall: "write" });
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(error) });
  const stderr = new PassThrough();
  expect(await runCli(cliOf(["completion", "bash"], { stdout, stderr }))).toBe(exitCode);
  expect(String(stderr.read() ?? "")).toBe(message);
});

describe("serve", () => {
  /** A server that gets SIGTERM as soon as it serves. */
  function stoppedServer(loginLink: string | undefined) {
    const seen = { configs: [] as Config[], stops: 0 };
    const startServer = async (config: Config): Promise<RunningServer> => {
      seen.configs.push(config);
      setImmediate(() => process.emit("SIGTERM", "SIGTERM"));
      return {
        url: "http://localhost:4020",
        loginLink,
        [Symbol.asyncDispose]: async () => {
          seen.stops += 1;
        },
      };
    };
    return { seen, startServer };
  }

  test("is the default command, prints its address and stops gracefully", async () => {
    const { seen, startServer } = stoppedServer("http://localhost:4020/#login=t");
    const result = await ran(["--bind", "127.0.0.1", "--login-link", "--port", "0"], { startServer });
    expect(result).toEqual({
      exitCode: 0,
      stdout:
        "ttyhq 1.2.3 serves http://localhost:4020\nlog in with this link, once and within 10 minutes: http://localhost:4020/#login=t\n",
      stderr: "",
    });
    expect(seen.configs).toMatchObject([
      { listen: { host: "127.0.0.1", port: 0 }, controlDir: "/home/me/.ttyhq" },
    ]);
    expect(seen.stops).toBe(1);
    expect(process.listenerCount("SIGTERM")).toBe(0);
  });

  test("says what was late, as an error of the system and not of its own", async () => {
    const startServer = () => withDeadline(new Promise<never>(() => undefined), 1, "the start");
    expect(await ran(["serve", "--no-auth"], { startServer })).toEqual({
      ...{ exitCode: 1, stdout: "", stderr: "ttyhq: the start took longer than 1 ms\n" },
    });
  });

  test("prints its address as one line of JSON", async () => {
    const { startServer } = stoppedServer(undefined);
    const { stdout } = await ran(["serve", "--no-auth", "--json"], { startServer });
    expect(JSON.parse(stdout)).toEqual({ event: "listening", url: "http://localhost:4020" });
  });
});
