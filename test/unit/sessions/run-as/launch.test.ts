import { chmod, mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_RECORDED_COMMAND_LENGTH } from "../../../../src/protocol/limits.ts";
import { CreateSession, type CreateSessionBody } from "../../../../src/protocol/schemas/session.ts";
import { type LaunchContext, type LaunchPlan, planLaunch } from "../../../../src/sessions/run-as/launch.ts";
import { launchEnv } from "../../../../src/sessions/run-as/launch-env.ts";

const account = { user: "ada", home: "/home/ada", shell: "/bin/sh" };

/** A home directory with the folders dev/x and bin, two programs in bin and a text file. */
async function makeHome(): Promise<AsyncDisposable & { path: string; context: LaunchContext }> {
  const directory = await mkdtempDisposable(join(tmpdir(), "launch-"));
  const home = directory.path;
  await mkdir(join(home, "dev/x"), { recursive: true });
  await mkdir(join(home, "bin/folder"), { recursive: true });
  for (const name of ["tool", "two words"]) await writeFile(join(home, "bin", name), "#!/bin/sh\n");
  for (const name of ["tool", "two words"]) await chmod(join(home, "bin", name), 0o755);
  await writeFile(join(home, "bin/notes"), "text");
  await symlink("tool", join(home, "bin/link"));
  const env = { PATH: `${home}/bin:/usr/bin:/bin` };
  return {
    path: home,
    context: { id: "s1", account: { ...account, home }, env },
    [Symbol.asyncDispose]: () => directory.remove(),
  };
}

function plan(body: CreateSessionBody, context: LaunchContext): Promise<LaunchPlan> {
  return planLaunch(CreateSession.parse(body), context);
}

describe("the command", () => {
  test.each<[string, CreateSessionBody, string[]]>([
    ["an array is the program and its arguments", { command: ["tool", "a b", ""] }, ["tool", "a b", ""]],
    ["a string with args is a program", { command: "tool", args: ["-x"] }, ["tool", "-x"]],
    ["a string with args is a program even with spaces", { command: "two words", args: [] }, ["two words"]],
    [
      "a string with spaces is a line for the shell",
      { command: "tool | tool" },
      ["/bin/sh", "-lc", "tool | tool"],
    ],
    ["a line may be several", { command: "tool\ntool" }, ["/bin/sh", "-lc", "tool\ntool"]],
    ["a string without spaces is a program", { command: "tool" }, ["tool"]],
    ["none is the login shell", {}, ["/bin/sh", "-l"]],
    ["an array may come with empty args", { command: ["tool"], args: [] }, ["tool"]],
    ["the shell is that of the session's environment", { env: { SHELL: "/bin/bash" } }, ["/bin/bash", "-l"]],
  ])("%s", async (_, body, command) => {
    await using home = await makeHome();
    const planned = await plan(body, home.context);
    expect(planned.session.command).toEqual(command);
    expect([planned.program.file, ...planned.program.args]).toEqual(command);
  });

  test("a long one is cut in the record, and the program gets all of it", async () => {
    await using home = await makeHome();
    const args = Array.from({ length: 250 }, (_, at) => `${at}${"x".repeat(4_000)}`);
    const { program, session } = await plan({ command: "tool", args }, home.context);
    expect(program.args).toEqual(args);
    const rest = MAX_RECORDED_COMMAND_LENGTH - "tool ".length - `${args[0]} `.length;
    expect(session.command).toEqual(["tool", args[0], `${args[1]?.slice(0, rest)}…`]);
    const short = { command: "tool", args: ["x".repeat(MAX_RECORDED_COMMAND_LENGTH - 6)] };
    expect((await plan(short, home.context)).session.command).toEqual(["tool", ...short.args]);
    const many = await plan({ command: "tool", args: Array(1_024).fill("é".repeat(9)) }, home.context);
    expect(many.session.command.join(" ")).toHaveLength(MAX_RECORDED_COMMAND_LENGTH + 1);
  });

  test("args without a string to go with are refused", async () => {
    await using home = await makeHome();
    const refusal = { code: "invalid_request" };
    await expect(plan({ command: ["tool"], args: ["-x"] }, home.context)).rejects.toMatchObject(refusal);
    await expect(plan({ args: ["-x"] }, home.context)).rejects.toMatchObject(refusal);
  });

  test.each<[string, CreateSessionBody]>([
    ["a name on the PATH", { command: ["tool"] }],
    ["a link to a program", { command: ["link"] }],
    ["an absolute path", { command: ["/bin/sh"] }],
    ["a path relative to the cwd", { command: ["./tool"], cwd: "~/bin" }],
    ["a path upwards from the cwd", { command: ["../bin/tool"], cwd: "~/dev" }],
    ["a name on the PATH that the request brings", { command: ["tool"], env: { PATH: "bin" } }],
  ])("a program is found by %s", async (_, body) => {
    await using home = await makeHome();
    expect((await plan(body, home.context)).program.file).toBe(body.command?.[0]);
  });

  test.each<[string, CreateSessionBody, string]>([
    ["that does not exist", { command: ["no-such-program"] }, "no-such-program"],
    ["that is not executable", { command: ["notes"] }, "notes"],
    ["that is a directory", { command: ["folder"] }, "folder"],
    ["whose path leads nowhere", { command: ["./tool"] }, "./tool"],
    ["that the request's PATH hides", { command: ["tool"], env: { PATH: "/usr/bin:/bin" } }, "tool"],
    ["that is a missing shell", { command: "echo a", env: { SHELL: "/no/shell" } }, "/no/shell"],
  ])("a program %s is command_not_found and named", async (_, body, file) => {
    await using home = await makeHome();
    const { details, ...error } = await plan(body, home.context).catch((reason) => reason);
    expect(error).toMatchObject({ code: "command_not_found" });
    expect(details.command).toBe(file);
  });

  test("the message says where was looked", async () => {
    await using home = await makeHome();
    await expect(plan({ command: ["nope"], env: { PATH: "/usr/bin:/bin" } }, home.context)).rejects.toThrow(
      "no program nope; looked at /usr/bin, /bin",
    );
    await expect(plan({ command: ["./nope"], cwd: "/usr" }, home.context)).rejects.toThrow(
      "no program ./nope; looked at /usr/nope",
    );
  });
});

describe("the working directory", () => {
  test.each<[string, CreateSessionBody, string]>([
    ["home without a wish", {}, ""],
    ["home for an empty one", { cwd: "", workingDir: "" }, ""],
    ["home for ~", { cwd: "~" }, ""],
    ["below home for ~/", { cwd: "~/dev/x/" }, "/dev/x"],
    ["relative to home", { workingDir: "dev/../bin" }, "/bin"],
    ["the same under both names", { cwd: "~/dev", workingDir: "dev" }, "/dev"],
  ])("is %s", async (_, body, below) => {
    await using home = await makeHome();
    const planned = await plan(body, home.context);
    expect([planned.session.cwd, planned.program.cwd]).toEqual(Array(2).fill(home.path + below));
    expect(planned.program.env.PWD).toBe(planned.program.cwd);
  });

  test.each([
    ["/no/such/place", "no such directory: /no/such/place"],
    ["/etc/passwd", "not a directory: /etc/passwd"],
    ["~nobody", "no such directory"],
  ])("%s is invalid_cwd", async (cwd, message) => {
    await using home = await makeHome();
    const refused = plan({ cwd }, home.context);
    await expect(refused).rejects.toMatchObject({ code: "invalid_cwd" });
    await expect(refused).rejects.toThrow(message);
  });

  test("that is not there is home in VibeTunnel's spelling, and the plan says so", async () => {
    await using home = await makeHome();
    const { session } = await plan({ workingDir: "/no/such/place" }, home.context);
    expect(session).toMatchObject({ cwd: home.path, cwdFallback: true });
    expect((await plan({ workingDir: "~/dev" }, home.context)).session.cwdFallback).toBeUndefined();
  });

  test("two different ones are refused", async () => {
    await using home = await makeHome();
    const refused = plan({ cwd: "/", workingDir: "/tmp" }, home.context);
    await expect(refused).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("of an account without a home is /", async () => {
    const env = { PATH: "/usr/bin:/bin" };
    const planned = await plan({}, { id: "s1", env, account: { ...account, home: "/nonexistent" } });
    expect(planned.session.cwd).toBe("/");
  });
});

describe("the name", () => {
  test.each<[CreateSessionBody, string]>([
    [{ command: ["/bin/sh", "-i"], cwd: "~/dev/x" }, "sh (~/dev/x)"],
    [{}, "sh (~)"],
    [{ command: "tool", cwd: "/usr" }, "tool (/usr)"],
    [{ command: " tool  a\n tool " }, "tool a tool (~)"],
    [{ command: `tool ${"x".repeat(200)}` }, `tool ${"x".repeat(55)} (~)`],
    [{ name: "" }, "sh (~)"],
    [{ name: "mine" }, "mine"],
  ])("of %j is %s", async (body, name) => {
    await using home = await makeHome();
    expect((await plan(body, home.context)).session.name).toBe(name);
  });
});

test("the size is what was asked for, or 80 by 24", async () => {
  await using home = await makeHome();
  expect((await plan({}, home.context)).program.size).toEqual({ cols: 80, rows: 24 });
  expect((await plan({ cols: 132, rows: 43 }, home.context)).program.size).toEqual({ cols: 132, rows: 43 });
});

describe("the environment", () => {
  const session = { id: "s1", account };

  test("is that of the account where the server has none", () => {
    expect(launchEnv({}, {}, session)).toEqual({
      HOME: "/home/ada",
      SHELL: "/bin/sh",
      USER: "ada",
      LOGNAME: "ada",
      PATH: "/usr/local/bin:/usr/bin:/bin",
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      COLORTERM: "truecolor",
      TTYHQ_SESSION_ID: "s1",
    });
  });

  test("keeps what the server has, but not its terminal", () => {
    const base = {
      HOME: "/srv",
      LC_ALL: "de_DE.UTF-8",
      EDITOR: "vi",
      TERM: "dumb",
      TMUX: "x",
      COLUMNS: "3",
      SHLVL: "4",
    };
    const env = launchEnv(base, {}, session);
    expect(env).toMatchObject({ HOME: "/srv", LC_ALL: "de_DE.UTF-8", EDITOR: "vi", TERM: "xterm-256color" });
    for (const name of ["LANG", "TMUX", "COLUMNS", "SHLVL"]) expect(env).not.toHaveProperty(name);
  });

  test("lets the request win over everything but the session's id", () => {
    const asked = { HOME: "/x", TERM: "vt100", TTYHQ_SESSION_ID: "forged", LANG: "C", FOO: "" };
    const env = launchEnv({ HOME: "/srv", FOO: "1" }, asked, session);
    expect(env).toMatchObject({ HOME: "/x", TERM: "vt100", LANG: "C", FOO: "", TTYHQ_SESSION_ID: "s1" });
  });

  test("never holds a secret of the server", () => {
    const secret = fc.oneof(
      fc.string().map((name) => `TTYHQ_${name}`),
      fc.constantFrom(
        "SERVICE_USERNAME",
        "SERVICE_PASSWORD",
        "SERVICE_USERNAME_FILE",
        "SERVICE_PASSWORD_FILE",
      ),
    );
    fc.assert(
      fc.property(fc.dictionary(secret, fc.constant("hidden")), (base) => {
        expect(Object.values(launchEnv(base, {}, session))).not.toContain("hidden");
      }),
    );
  });

  test("holds nothing that npm added to the server's", () => {
    const npm = "/app/node_modules/.bin:/node_modules/.bin:/usr/lib/npm/@npmcli/run-script/lib/node-gyp-bin";
    const base = {
      npm_lifecycle_event: "start",
      npm_package_json: "x",
      INIT_CWD: "/",
      NODE: "/n",
      COLOR: "0",
    };
    const own = "/usr/bin:/my/node_modules/.bin:/bin";
    const env = launchEnv({ ...base, PATH: `${npm}:${own}` }, {}, session);
    expect(env.PATH).toBe(own);
    for (const name of Object.keys(base)) expect(env).not.toHaveProperty(name);
  });

  test("keeps a person's npm settings and PATH where npm is not involved", () => {
    const base = { PATH: "/my/node_modules/.bin:/bin", npm_config_cache: "/c", NODE: "/n" };
    expect(launchEnv(base, {}, session)).toMatchObject(base);
  });
});
