import fc from "fast-check";
import { expect, test } from "vitest";
import { afterOptions, readOptions } from "../../../../src/auth/ssh/key-options.ts";

const flag = (name: string) => ({ name, value: undefined });

test("options end at the first space outside quotes", () => {
  expect(readOptions('no-pty,command="ls -l, \\"a b\\"",X11-Forwarding ssh-ed25519 AAAA')).toEqual([
    flag("no-pty"),
    { name: "command", value: 'ls -l, "a b"' },
    flag("x11-forwarding"),
  ]);
  expect(readOptions("no-user-rc\tssh-ed25519")).toEqual([flag("no-user-rc")]);
});

test("a backslash is literal except before a quote", () => {
  expect(readOptions('from="a\\b"')).toEqual([{ name: "from", value: "a\\b" }]);
  expect(readOptions('from="a\\\\" ')).toBeUndefined();
  expect(readOptions('from="a\\\\""')).toEqual([{ name: "from", value: 'a\\"' }]);
  expect(readOptions('from="\\"\\""')).toEqual([{ name: "from", value: '""' }]);
});

test("empty options and a comma at the end of the line are invalid", () => {
  expect(readOptions(",,pty,,user-rc, ssh-ed25519")).toEqual([flag("pty"), flag("user-rc")]);
  expect(readOptions("pty,")).toBeUndefined();
});

test.each([
  ...["unknown", "pty2", "no-restrict", "no-cert-authority", "pty=", "pty;user-rc", '"pty"'],
  ...[
    "command",
    "command=",
    "command=ls",
    'command="ls',
    'command="ls\\"',
    'command="ls"x',
    'no-command="ls"',
  ],
  ...['command ="ls"', 'from= "a"', 'environment="A=b"_,pty'],
])("%s is not an option of sshd", (line) => {
  expect(readOptions(line)).toBeUndefined();
});

test("the rest of the line is found after valid and invalid options", () => {
  expect(afterOptions('bad="a b" \t ssh-ed25519 AAAA')).toBe("ssh-ed25519 AAAA");
  expect(afterOptions('a\\" b')).toBe("b");
  expect(afterOptions('a" b')).toBeUndefined();
  expect(afterOptions("alone")).toBe("");
});

test("no line makes reading options throw", () => {
  const pieces = ["pty", "no-", "restrict", "command=", "from=", '"', "\\", ",", " ", "=", "x", "\t", "\0"];
  const line = fc.array(fc.constantFrom(...pieces), { maxLength: 20 }).map((each) => each.join(""));
  fc.assert(
    fc.property(fc.oneof(line, fc.string({ unit: "binary" })), (each) => {
      const options = readOptions(each);
      for (const { name } of options ?? []) expect(name).toMatch(/^[a-z0-9-]+$/);
      // Valid options always have an end.
      if (options !== undefined) expect(afterOptions(each)).toBeDefined();
    }),
    { numRuns: 2_000 },
  );
});
