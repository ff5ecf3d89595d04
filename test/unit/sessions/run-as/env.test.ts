import fc from "fast-check";
import { expect, test } from "vitest";
import { accountEnv, parseEnvironmentFile, parseLoginDefaults } from "../../../../src/sessions/run-as/env.ts";

const DEFAULTS = {
  path: "/usr/local/bin:/usr/bin:/bin",
  rootPath: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  umask: "022",
};

test.each([
  ["nothing", "", DEFAULTS],
  ["comments", "# ENV_PATH PATH=/x\n#UMASK 077\n", DEFAULTS],
  [
    "what Debian writes",
    "ENV_SUPATH\tPATH=/sbin:/bin\nENV_PATH\tPATH=/bin:/usr/games\nUMASK\t\t027\n",
    { path: "/bin:/usr/games", rootPath: "/sbin:/bin", umask: "027" },
  ],
  ["paths without their name", 'ENV_PATH "/bin"\n', { ...DEFAULTS, path: "/bin" }],
  ["a name twice", "UMASK 077\nUMASK 002\n", { ...DEFAULTS, umask: "002" }],
  ["no sense", "UMASK 999\nENV_PATH PATH=\nENV_PATHS /x\n", DEFAULTS],
])("login.defs with %s", (_, text, expected) => {
  expect(parseLoginDefaults(text)).toEqual(expected);
});

test.each<[string, string, [string, string][]]>([
  ["a variable", "LANG=de_DE.UTF-8\n", [["LANG", "de_DE.UTF-8"]]],
  [
    "quotes",
    `A="b c"\nD='e'\nF="g'\n`,
    [
      ["A", "b c"],
      ["D", "e"],
      ["F", `"g'`],
    ],
  ],
  ["an export", "export A=b\n", [["A", "b"]]],
  ["comments", "# A=b\nC=d # e\n", [["C", "d"]]],
  ["no value", "A=\n", [["A", ""]]],
  ["an equals sign", "A=b=c\n", [["A", "b=c"]]],
  ["lines of something else", "A\n1A=b\nA B=c\n=x\n\0=y\nA=\0\n", []],
])("a file of environment variables with %s", (_, text, expected) => {
  expect(parseEnvironmentFile(text)).toEqual(expected);
});

test("no text makes reading these files fail, or a variable that no program could have", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string(), (name, value) => {
      const text = `${name}=${value}\n${value}`;
      for (const [key, content] of parseEnvironmentFile(text)) {
        expect(key).toMatch(/^[A-Za-z_]\w*$/);
        expect(content).not.toContain("\0");
      }
      expect(parseLoginDefaults(`ENV_PATH ${value}\nUMASK ${value}`).umask).toMatch(/^[0-7]{3,4}$/);
    }),
  );
});

test("of the host's own environment a user gets the language and the time zone", async () => {
  const host = {
    ...{ LC_TIME: "de_DE.UTF-8", TZ: "Europe/Berlin", LC_lower: "x" },
    ...{ HOME: "/root", USER: "root", PATH: "/root/bin", SSH_AUTH_SOCK: "/tmp/agent", SUDO_USER: "eve" },
    ...{ XDG_RUNTIME_DIR: "/run/user/0", SECRET: "s", LD_PRELOAD: "/root/x.so", BASH_ENV: "/root/x" },
  };
  const account = { name: "ada", uid: 1000, gid: 1000, home: "/home/ada", shell: "/bin/sh" };
  const { env } = await accountEnv(account, host);
  expect(env).toMatchObject({ LC_TIME: "de_DE.UTF-8", TZ: "Europe/Berlin" });
  expect(env.PATH).not.toContain("root");
  const left = [
    "HOME",
    "USER",
    "SSH_AUTH_SOCK",
    "SUDO_USER",
    "XDG_RUNTIME_DIR",
    "SECRET",
    "LD_PRELOAD",
    "BASH_ENV",
  ];
  for (const name of [...left, "LC_lower"]) expect(env, name).not.toHaveProperty(name);
});
