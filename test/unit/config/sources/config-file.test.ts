import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ConfigError } from "../../../../src/config/config-error.ts";
import { type Option, spellingsOf } from "../../../../src/config/options/option.ts";
import { OPTIONS } from "../../../../src/config/options/options.ts";
import { MAX_CONFIG_FILE_BYTES } from "../../../../src/config/sources/config-file.ts";
import { passwordOf, reveal } from "../command-line.ts";
import { configFile, fileProblems, fromFile } from "../yaml-file.ts";

const HQ = `
# An HQ that has sessions, too.
hq: true
hq-sessions: yes
bind: 127.0.0.1
port: 8080
username: fleet
password-file: /run/secrets/password
allow-user:
  - ada
  - "*"
max-recording-size: 1 GiB
jwt-secret-file: jwt
`;

test("options in a file have the names and values of their flags", () => {
  const config = fromFile(HQ);
  expect(config).toMatchObject({
    listen: { host: "127.0.0.1", port: 8080 },
    auth: { allowUsers: ["ada", "*"] },
    role: { kind: "hq", hasSessions: true, credentials: { username: "fleet" } },
    recording: { maxBytes: 2 ** 30 },
  });
  expect(passwordOf(config)).toBe("s3cret");
});

test("a path is relative to the file's directory, and ~ is the home directory", () => {
  expect(reveal(fromFile(HQ).tokenSecret)).toBe("j".repeat(32));
  const config = fromFile("control-dir: ~/t\naudit-log: log/audit.log\n");
  expect(config).toMatchObject({ controlDir: "/home/me/t", auditLog: "/work/log/audit.log" });
});

test("a flag overrides a variable, a variable the file; lists are not merged", () => {
  const file = "port: 1\nallow-user: [ada, bob]\nno-auth: true\nbind: '::1'\n";
  expect(fromFile(file).listen.port).toBe(1);
  expect(fromFile(file, "", { TTYHQ_PORT: "2" }).listen.port).toBe(2);
  expect(fromFile(file, "--port 3", { TTYHQ_PORT: "2" }).listen.port).toBe(3);
  expect(fromFile(file, "--allow-user eve", { TTYHQ_NO_AUTH: "false" }).auth).toMatchObject({
    allowUsers: ["eve"],
  });
});

test("a secret in a variable overrides the file's, each given directly or as a file", () => {
  const file = "service-username: admin\nservice-password: in the file\n";
  expect(passwordOf(fromFile(file))).toBe("in the file");
  expect(passwordOf(fromFile(file, "", { SERVICE_PASSWORD_FILE: "/run/secrets/password" }))).toBe("s3cret");
  expect(fromFile(file).warnings).toEqual([]);
});

test("numbers and booleans keep their text", () => {
  const pair = (password: string) =>
    passwordOf(fromFile(`service-username: 007\nservice-password: ${password}\n`));
  for (const text of ["0123", "1e3", "0x1F", "no", "True", "12345678901234567890", "1_000", "2026-01-01"]) {
    expect(pair(text)).toBe(text);
    expect(pair(`"${text}"`)).toBe(text);
  }
  expect(fromFile("service-username: 007\nservice-password: x").auth).toMatchObject({
    password: { username: "007" },
  });
  expect(pair("|\n  two\n  lines")).toBe("two\nlines\n");
});

test("an empty file and one of comments have no options", () => {
  for (const text of ["", "\n", "# port: 1\n", "---\n", "\uFEFF# x\n", "{}"])
    expect(fileProblems(text)).toEqual([]);
});

test.each([
  ["port: x", 'config.yaml:1:7: port: must be a whole number from 0 to 65535, not "x"'],
  ["# a\n\n port: 70000", 'config.yaml:3:8: port: must be a whole number from 0 to 65535, not "70000"'],
  ["port: [1]", "config.yaml:1:7: port: must be one text, number or truth value"],
  ["bind:\n  a: b", "config.yaml:2:3: bind: must be one text, number or truth value"],
  [
    "port:",
    "config.yaml:1:6: port: must be one text, number or truth value, and is empty: give one, or leave the option out",
  ],
  [
    "name: ~",
    "config.yaml:1:7: name: must be one text, number or truth value, and is empty: give one, or leave the option out",
  ],
  ["no-auth: maybe", 'config.yaml:1:10: no-auth: must be true or false, not "maybe"'],
  ["allow-user: {a: b}", "config.yaml:1:13: allow-user: must be a list of texts"],
  ["allow-user: [[a]]", "config.yaml:1:13: allow-user: must be a list of texts"],
  ["allow-user: [a, ~]", "config.yaml:1:13: allow-user: must be a list of texts"],
  [
    "allow-user:\n- a b",
    'config.yaml:2:1: allow-user: must be one user name, or https://issuer#subject, not "a b"',
  ],
  ["bind: !!binary aGk=", "config.yaml:1:16: bind: must be one text, number or truth value"],
  ["port: 1\nport: 2", "config.yaml:2:1: port: given twice, first in line 1"],
  ["prot: 1", 'config.yaml:1:1: there is no option "prot"; did you mean port?'],
  ["--port: 1", 'config.yaml:1:1: there is no option "--port"; did you mean port?'],
  ["TTYHQ_TLS_CERT: x", 'config.yaml:1:1: there is no option "TTYHQ_TLS_CERT"; did you mean tls-cert?'],
  ["controlDir: x", 'config.yaml:1:1: there is no option "controlDir"; did you mean control-dir?'],
  [
    "jwt-secret-fil: x",
    'config.yaml:1:1: there is no option "jwt-secret-fil"; did you mean jwt-secret-file?',
  ],
  [
    "replicas-of-the-moon: 3",
    'config.yaml:1:1: there is no option "replicas-of-the-moon": ttyhq serve --help lists them',
  ],
  ["<<: {port: 1}", 'config.yaml:1:1: there is no option "<<": ttyhq serve --help lists them'],
  ["? [a]\n: b", "config.yaml:1:3: must be the name of an option"],
  ["config: other.yaml", "config.yaml:1:1: config: a configuration file names no other"],
  [
    "- port: 1",
    "config.yaml:1:1: must be a mapping from names of options to their values, such as port: 4020",
  ],
  ["port", "config.yaml:1:1: must be a mapping from names of options to their values, such as port: 4020"],
  ["jwt-secret: short", "config.yaml:1:13: jwt-secret: has 5 bytes, must have at least 32"],
  [
    "tls-cert: none",
    "config.yaml:1:11: tls-cert: cannot read the file: ENOENT: no such file, open '/work/none'",
  ],
  [
    "hq: true\nusername: a\npassword: b\npassword-file: jwt",
    "config.yaml:3:11: password and config.yaml:4:16: password-file are both set: set one of them",
  ],
  ["name: a", "config.yaml:1:7: name is for a remote alone: give --hq-url, too, or leave it out"],
  [
    "service-username: a",
    "config.yaml:1:19: service-username is set without SERVICE_PASSWORD: set both or none",
  ],
])("%j is refused with its position", (text, sentence) => {
  expect(fileProblems(text)).toContain(sentence);
});

test.each([
  ["a: 'b", /^config\.yaml:1:\d+: Missing closing 'quote$/],
  ["a: b: c", /^config\.yaml:1:\d+: Nested mappings are not allowed/],
  ["port: 1\n\tbind: x", /^config\.yaml:2:\d+: /],
  ["port: 1\n---\nport: 2", /^config\.yaml:2:\d+: .*multiple documents/],
  [
    "port: *one",
    /^config\.yaml:1:7: nothing above has this name: put a text that begins with \* between quotes$/,
  ],
  ["port: !one 1", /^config\.yaml:1:7: tags are not taken/],
])("%j is invalid YAML and is refused with its position", (text, sentence) => {
  expect(fileProblems(text)[0]).toMatch(sentence);
});

test("all problems are reported at once, with those of flags and variables", () => {
  const wrong = "prot: 1\nbind: a:1\nport: x\nallow-user: {}\n";
  expect(fileProblems(wrong)).toHaveLength(4);
});

test("an alias repeats the value of its anchor", () => {
  const config = fromFile(
    "admin-user: &people [ada, bob]\nallow-user: *people\nname: &n box-1\nhq-username: *n\nhq-url: https://hq\nhq-password-file: jwt\n",
  );
  expect(config.auth).toMatchObject({ adminUsers: ["ada", "bob"], allowUsers: ["ada", "bob"] });
  expect(config.role).toMatchObject({ name: "box-1", hq: { credentials: { username: "box-1" } } });
});

test("expanding aliases are refused quickly", () => {
  const bomb = Array.from(
    { length: 9 },
    (_, i) => `a${i}: &a${i} [${Array(9).fill(i === 0 ? "lol" : `*a${i - 1}`)}]`,
  );
  expect(fileProblems(bomb.join("\n"))).toHaveLength(9);
  expect(fileProblems(`allow-user: &a [${Array(5_000).fill("b")}]\nadmin-user: [*a, *a]`)).toEqual(
    Array(1).fill("config.yaml:2:13: admin-user: must be a list of texts"),
  );
  expect(fileProblems(`bind: &a b\nallow-user: [${Array(101).fill("*a")}]`)).toContain(
    "config.yaml:2:314: is an alias more than the 100 that a file may have",
  );
});

test("a file that is too large, too deeply nested or not text is refused", () => {
  expect(fileProblems(`#${"x".repeat(MAX_CONFIG_FILE_BYTES)}`)).toEqual([
    "config.yaml: has more than 65536 bytes",
  ]);
  expect(fileProblems(`a: ${"[".repeat(60_000)}`)[0]).toMatch(/^config\.yaml/);
  expect(fileProblems(`a: ${"[".repeat(30_000)}${"]".repeat(30_000)}`)[0]).toMatch(/^config\.yaml/);
  expect(fileProblems(Uint8Array.of(0xff, 0xfe, 0x61))).toEqual(["config.yaml: must be text in UTF-8"]);
});

test("a file that everyone may write is refused, and one with a secret that everyone may read", () => {
  expect(fileProblems("port: 1", 0o666)).toEqual([
    "config.yaml: everybody on this machine may write it: chmod o-w config.yaml",
  ]);
  expect(fileProblems("port: 1\njwt-secret-file: jwt", 0o644)).toEqual([]);
  const secret = `jwt-secret: ${"s".repeat(32)}`;
  expect(fileProblems(secret, 0o644)).toEqual([
    "config.yaml: everybody on this machine may read it, and it has a secret in jwt-secret: chmod o-r config.yaml, or name a file with the secret as jwt-secret-file",
  ]);
  expect(fileProblems(secret, 0o640)).toEqual([]);
});

test("no message shows a secret of the file", () => {
  for (const text of [
    "jwt-secret: hunter2",
    "jwt-secret: [hunter2]",
    "jwt-secret: 'hunter2",
    "jwt-secret: hunter2: x",
  ]) {
    expect(fileProblems(text).join()).not.toContain("hunter2");
    expect(fileProblems(text)).not.toEqual([]);
  }
});

test("no message shows a secret, whatever surrounds it", () => {
  const around = fc.stringMatching(/^[ !-/:-@[-`{-~]{0,4}$/);
  return fc.assert(
    fc.property(around, around, around, (before, between, after) => {
      const text = `jwt-secret: ${before}hunter2${between}hunter2${after}`;
      expect(fileProblems(text).join()).not.toContain("hunter2");
    }),
    { numRuns: 3_000 },
  );
});

test("every name in a file means one option", () => {
  const keys = Object.values<Option>(OPTIONS).flatMap(keysOf);
  expect(new Set(keys).size).toBe(keys.length);
});

test("every file is read or refused with sentences", () => {
  const names = Object.values<Option>(OPTIONS).flatMap(keysOf);
  const bit = fc.oneof(
    fc.constantFrom(
      ...names,
      ": ",
      "\n",
      "- ",
      "[",
      "]",
      "{",
      "}",
      "&a ",
      "*a",
      "!!str ",
      "|\n  ",
      "'",
      '"',
      "# ",
      "? ",
    ),
    fc.string({ unit: "binary", maxLength: 8 }),
  );
  const text = fc.oneof(
    fc.array(bit, { maxLength: 30 }).map((bits) => new TextEncoder().encode(bits.join(""))),
    fc.uint8Array({ maxLength: 200 }),
  );
  return fc.assert(
    fc.property(text, (bytes) => {
      try {
        for (const sentence of configFile(bytes).problems) expect(sentence).toMatch(/^config\.yaml:/);
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        for (const sentence of error.problems) expect(sentence).toMatch(/^config\.yaml:/);
      }
    }),
    { numRuns: 1_500 },
  );
});

function keysOf(option: Option): readonly string[] {
  return spellingsOf(option).map(({ key }) => key);
}
