import fc from "fast-check";
import { expect, test } from "vitest";
import { judgeKey } from "../../../../src/auth/ssh/authorized-keys.ts";
import { readPublicKey } from "../../../../src/auth/ssh/public-key.ts";
import { newKey } from "./key-pair.ts";

const mine = newKey();
const other = newKey();
const { line, letters } = mine;
const key = readPublicKey(line) ?? { bytes: new Uint8Array() };
const nowS = Date.UTC(2026, 0, 1) / 1000;
const visit = { address: "192.0.2.7", nowS };

function verdict(file: string, from: Partial<typeof visit> = {}): string {
  return judgeKey(Buffer.from(file, "latin1"), key, { ...visit, ...from });
}

test.each([
  ["a key", line],
  ["a key with a line end", `${line}\n`],
  ["a key after others, comments and empty lines", `# x\n\n \t\n${other.line}\nnonsense\n${line}\n`],
  ["a key after white space", ` \t ${line}`],
  ["lines that end as on Windows", `# x\r\n\r\n${line}\r\n`],
  ["a key before a NUL byte", `ssh-ed25519 ${letters}\0 and more`],
  ["a key with options that do not matter here", `no-user-rc,no-x11-forwarding,tunnel="0" ${line}`],
  ["a key with a quoted space before it", `environment="A=b \\" ssh-ed25519" ${line}`],
  ["a key after a line of a million letters", `${"x".repeat(1_000_000)}\n${line}`],
  ["a key with a comment of a million letters", `${line}${" x".repeat(500_000)}`],
  ["a key after a line that names it and is broken", `unknown ${line}\n${line}`],
  ["a key after a line for elsewhere", `from="10.*" ${line}\n${line}`],
  ["a key after one for certificates", `cert-authority ${line}\n${line}`],
  ["a key whose time has not come", `expiry-time="20260101000000Z" ${line}`],
  ["a key for here", `from="192.0.2.0/24" ${line}`],
])("%s logs in", (_, file) => {
  expect(verdict(file)).toBe("admitted");
});

test.each([
  ["nothing", ""],
  ["another key", other.line],
  ["a key in a comment", `#${line}`],
  ["a key in a comment after white space", ` \t# ${line}`],
  ["a key after a NUL byte", `\0${line}`],
  ["a key with a NUL byte in it", `ssh-ed25519 ${letters.slice(0, 9)}\0${letters.slice(9)}`],
  ["a key as the comment of another", `${other.line} ${line}`],
  ["a key without its type", letters],
  ["a key under another type", `ssh-rsa ${letters}`],
  ["a key over two lines", `ssh-ed25519\n${letters}`],
  ["a key after a carriage return", `\r${line}`],
  ["a key after a mark of byte order", `\u00ef\u00bb\u00bf${line}`],
  ["an option that sshd does not know", `no-fun ${line}`],
  ["a quote that is never closed", `command="ls ${line}`],
  ["a key for certificates", `cert-authority ${line}`],
  ["a key with principals", `principals="a" ${line}`],
  ["a key for elsewhere", `from="10.*" ${line}`],
  ["a key whose time is over", `expiry-time="20251231235959Z" ${line}`],
  ["the earlier of two times", `expiry-time="20251231Z",expiry-time="20300101Z" ${line}`],
])("%s does not log in", (_, file) => {
  expect(verdict(file)).toBe("absent");
});

test.each(["restrict", "no-pty", 'command="ls"', "restrict,pty"])(
  "a key with %s does not log in, nor does a later line for it",
  (options) => {
    expect(verdict(`${options} ${line}\n${line}`)).toBe("limited");
    expect(verdict(`${options},from="10.*" ${line}\n${line}`)).toBe("admitted");
    expect(verdict(`${line}\n${options} ${line}`)).toBe("admitted");
  },
);

test("a key with from= does not log in a client without an address", () => {
  const file = Buffer.from(`from="*" ${line}`);
  expect(judgeKey(file, key, { address: undefined, nowS })).toBe("absent");
});

test("no file admits a key that is not in it", () => {
  const piece = fc.constantFrom(
    ...[
      "\n",
      " ",
      "\t",
      "\r",
      "\0",
      "#",
      '"',
      "\\",
      ",",
      "restrict",
      "from=",
      "command=",
      "pty",
      "ssh-ed25519",
    ],
    ...[other.letters, other.line, letters.slice(0, 60), "AAAA", "="],
  );
  const text = fc.array(piece, { maxLength: 30 }).map((each) => each.join(""));
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: "binary" })), (file) => {
      expect(verdict(file)).toBe("absent");
    }),
    { numRuns: 1_000 },
  );
});

test("a line with one character of its key changed does not admit the key", () => {
  for (let at = 0; at < letters.length; at++) {
    const swapped = letters[at] === "A" ? "B" : "A";
    expect(verdict(`ssh-ed25519 ${letters.slice(0, at)}${swapped}${letters.slice(at + 1)}`)).toBe("absent");
  }
});
