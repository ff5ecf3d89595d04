import fc from "fast-check";
import { expect, test } from "vitest";
import {
  findSystemAccount,
  findSystemGroups,
  isAccountName,
  isExpiredShadow,
  loginRefusal,
  parseMasterPasswdLine,
  parsePasswdLine,
} from "../../../../src/lib/os/system-account.ts";

const DAY_MS = 86_400_000;
const ada = { name: "ada", uid: 1000, gid: 100, home: "/home/ada", shell: "/bin/bash" };

test.each([
  ["a user", "ada:x:1000:100:Ada,,,:/home/ada:/bin/bash", ada],
  ["a user of a directory", "ada:*:1000:100::/home/ada:/bin/bash", ada],
  ["a user without a shell", "ada:x:1000:100:Ada:/home/ada:", { ...ada, shell: "/bin/sh" }],
  ["a user without a home", "ada:x:1000:100:Ada::/bin/bash", { ...ada, home: "/" }],
  [
    "the highest number",
    "ada:x:4294967294:100::/:/bin/sh",
    { ...ada, uid: 4294967294, home: "/", shell: "/bin/sh" },
  ],
])("a line of passwd tells of %s", (_, line, account) => {
  expect(parsePasswdLine(line)).toEqual(account);
});

test.each([
  ["nothing", ""],
  ["too few fields", "ada:x:1000:100:Ada:/home/ada"],
  ["too many fields", "ada:x:1000:100:Ada:/home/ada:/bin/bash:"],
  ["no number", "ada:x::100:Ada:/home/ada:/bin/bash"],
  ["a negative number", "ada:x:-1:100:Ada:/home/ada:/bin/bash"],
  ["a number beyond what there is", "ada:x:4294967295:100:Ada:/home/ada:/bin/bash"],
  ["a number in another notation", "ada:x:0x10:100:Ada:/home/ada:/bin/bash"],
  ["no name", ":x:1000:100:Ada:/home/ada:/bin/bash"],
  ["NIS", "+:x:::::"],
  ["a NUL", "ada:x:1000:100:Ada:/home\0/ada:/bin/bash"],
])("a line with %s is nobody", (_, line) => {
  expect(parsePasswdLine(line)).toBeUndefined();
});

test("the answer of macOS's `id -P` tells of a user as well", () => {
  const line = (fields: string): string => `ada:********:501:20:${fields}:/Users/ada:/bin/zsh`;
  const found = { name: "ada", uid: 501, gid: 20, home: "/Users/ada", shell: "/bin/zsh" };
  expect(parseMasterPasswdLine(line(":0:0:Ada Lovelace"))).toEqual(found);
  expect(parseMasterPasswdLine(line("staff:0:1767225600:"))).toEqual(found);
  for (const other of ["", line("Ada Lovelace"), line(":0:0:Ada:Lovelace")])
    expect(parseMasterPasswdLine(other), other).toBeUndefined();
  expect(parseMasterPasswdLine(line(":0:0:Ada").replace("501", "-2"))).toBeUndefined();
});

test("the groups of a user are the same without the ends of names that Linux alone has", async () => {
  for (const name of ["root", "nobody", "www-data", "no-such-user", "--help"])
    expect(await findSystemGroups(name, "darwin"), name).toEqual(await findSystemGroups(name, "linux"));
  expect(await findSystemGroups("root", "darwin")).toContain("root");
});

test("any text is a valid account or none", () => {
  const field = fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom("ada", "/home/ada", "0", "-1"));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(field, { maxLength: 9 }).map((all) => all.join(":")),
      ),
      (line) => {
        const account = parsePasswdLine(line);
        if (account === undefined) return;
        expect(isAccountName(account.name)).toBe(true);
        expect(account.uid).toBe(Number(line.split(":")[2]));
        expect(account.home).toMatch(/^\//);
      },
    ),
  );
});

test("a name has no options, fields, lines or invisible characters", () => {
  for (const name of [
    "ada",
    "ada.l",
    "ada@site.example",
    "SITE\\ada",
    "ada lovelace",
    "ädа",
    "_x$",
    "a".repeat(256),
  ]) {
    expect(isAccountName(name), name).toBe(true);
  }
  const others = [
    "",
    "-ada",
    "--help",
    " ada",
    "ada ",
    "a:b",
    "a/b",
    "..//",
    "a\nb",
    "a\0",
    "a\u{200b}b",
    "\ud800",
  ];
  for (const name of [...others, "a".repeat(257)]) expect(isAccountName(name), name).toBe(false);
});

test("a user is found under exactly its name", async () => {
  expect(await findSystemAccount("root")).toMatchObject({ name: "root", uid: 0 });
  for (const name of [
    "0",
    "00",
    "+0",
    "Root",
    "ROOT",
    "root ",
    "no-such-user",
    "--help",
    "root\0",
    "root\nroot",
  ]) {
    expect(await findSystemAccount(name), name).toBeUndefined();
  }
});

test("made-up names do not make the lookup fail", async () => {
  const names = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.stringMatching(/^[-+\d.]{1,20}$/));
  await fc.assert(
    fc.asyncProperty(names, async (name) => {
      const account = await findSystemAccount(name);
      if (account !== undefined) expect(account.name).toBe(name);
    }),
    { numRuns: 50 },
  );
});

test("an account expires on the day in shadow", () => {
  const line = (expires: string): string => `ada:$y$hash:20000:0:99999:7::${expires}:`;
  expect(isExpiredShadow(line("20400"), 20400 * DAY_MS)).toBe(true);
  expect(isExpiredShadow(line("20400"), 20400 * DAY_MS - 1)).toBe(false);
  for (const expires of ["", "-1", "never", "1e9"]) {
    expect(isExpiredShadow(line(expires), 1e15), expires).toBe(false);
  }
  fc.assert(fc.property(fc.string(), (text) => typeof isExpiredShadow(text, 0) === "boolean"));
});

test("a user without a login shell may not log in", async () => {
  for (const shell of [
    "/usr/sbin/nologin",
    "/bin/false",
    "/home/ada/shell",
    "/bin/rbash",
    "",
    "/etc/shells",
  ]) {
    expect(await loginRefusal({ ...ada, name: "no-such-user", shell }), shell).toContain(
      "is not one to log in with",
    );
  }
  expect(await loginRefusal({ ...ada, name: "no-such-user", shell: "/bin/sh" })).toBeUndefined();
});
