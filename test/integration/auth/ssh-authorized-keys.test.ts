// Compares with Debian's sshd: keys that get a terminal there log in here, and refused ones do not.
import { chmod } from "node:fs/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SEED, scaled } from "../harness/scale.ts";
import { KeyJudge, type Place } from "./key-judge.ts";

/** A file with the key's line; `true` if it admits the key. */
type Row = readonly [name: string, isLetIn: boolean, file: (line: string, other: string) => string, Place?];

async function judgeAll(judge: KeyJudge, rows: readonly Row[]): Promise<void> {
  const verdicts: object[] = [];
  for (const [name, , file, from] of rows) {
    await judge.install(file(judge.line, judge.other));
    verdicts.push({ name, ...(await judge.judge(from)) });
  }
  expect(verdicts).toEqual(rows.map(([name, isLetIn]) => ({ name, sshd: isLetIn, ttyhq: isLetIn })));
}

const letters = (line: string): string => line.split(" ")[1] ?? "";
const bare = (line: string): string => `ssh-ed25519 ${letters(line)}`;
const withOptions = (options: string) => (line: string) => `${options} ${line}\n`;

const LINES: readonly Row[] = [
  ["a line", true, (line) => `${line}\n`],
  ["no line end", true, (line) => line],
  ["no comment", true, (line) => bare(line)],
  ["a comment with quotes", true, (line) => `${line} said "no\n`],
  ["lines before and after", true, (line, other) => `# mine\n\n${other}\n \t\n${line}\n${other}\n`],
  ["leading white space", true, (line) => ` \t ${line}\n`],
  ["tabs between", true, (line) => line.replaceAll(" ", "\t")],
  ["CRLF", true, (line, other) => `# mine\r\n\r\n${other}\r\n${line}\r\n`],
  ["CRLF without a comment", true, (line) => `${bare(line)}\r\n`],
  ["a carriage return in the key", true, (line) => bare(line).replace(/.{9}$/, "\r$&")],
  ["a line of 300 kB before it", true, (line) => `${"x".repeat(300_000)}\n${line}\n`],
  ["a comment of 300 kB", true, (line) => `${line}${" x".repeat(150_000)}\n`],
  ["an option of 100 kB", true, (line) => `environment="A=${"x".repeat(100_000)}" ${line}\n`],
  ["a NUL byte in the comment", true, (line) => `${line}\0\n`],
  ["garbage around it", true, (line) => `\xff\xfe\x00\x01\n${line}\n-----BEGIN\n"""\n`],
  ["a broken line for it, then a good one", true, (line) => `fun ${line}\n${line}\n`],
  ["nothing", false, () => ""],
  ["another key", false, (_, other) => `${other}\n`],
  ["in a comment", false, (line) => `#${line}\n # ${line}\n`],
  ["behind a NUL byte", false, (line) => `\0${line}\n`],
  ["a NUL byte in the key", false, (line) => bare(line).replace(/.{9}$/, "\0$&")],
  ["in another line's comment", false, (line, other) => `${other} ${line}\n`],
  ["without its type", false, (line) => `${letters(line)}\n`],
  ["its type in capitals", false, (line) => `SSH-ED25519 ${letters(line)}\n`],
  ["another type", false, (line) => `ssh-rsa ${letters(line)}\n`],
  ["cut short", false, (line) => `${bare(line).slice(0, -1)}\n`],
  ["an equals sign more", false, (line) => `${bare(line)}=\n`],
  ["over two lines", false, (line) => `ssh-ed25519\n${letters(line)}\n`],
  ["behind a carriage return", false, (line) => `\r${line}\n`],
  ["behind a mark of byte order", false, (line) => `\xef\xbb\xbf${line}\n`],
];

const OPTIONS: readonly Row[] = [
  ["harmless", true, withOptions("no-port-forwarding,no-agent-forwarding,no-X11-forwarding,no-user-rc,pty")],
  ["in capitals", true, withOptions("NO-PORT-FORWARDING")],
  ["for hardware keys", true, withOptions("no-touch-required,verify-required")],
  ["forwarding", true, withOptions('permitopen="h:80",permitopen="[::1]:*",permitlisten="80",tunnel="0"')],
  ["environment", true, withOptions('environment="A=ssh-ed25519 \\"x\\""')],
  ["a backslash", true, withOptions('environment="A=\\b\\\\c"')],
  ["nothing between commas", true, withOptions(",pty,,user-rc")],
  ["a comma at the end", true, withOptions("pty,")],
  ["tabs after them", true, (line) => `pty\t\t${line}\n`],
  ["restrict", false, withOptions("restrict")],
  ["no-pty", false, withOptions("no-pty")],
  ["No-PTY after pty", false, withOptions("pty,No-PTY")],
  ["command", false, withOptions('command="echo no"')],
  ["Command with quotes", false, withOptions('Command="echo \\"a b\\", c"')],
  ["command, and a line without it after", false, (line) => `command="echo no" ${line}\n${line}\n`],
  ["a line without it first", true, (line) => `${line}\ncommand="echo no" ${line}\n`],
  ["cert-authority", false, withOptions("cert-authority")],
  ["cert-authority, and a line without it after", true, (line) => `cert-authority ${line}\n${line}\n`],
  ["principals", false, withOptions('principals="root"')],
  ["unknown", false, withOptions("no-fun")],
  ["a known one and more", false, withOptions("ptyx")],
  ["no such no", false, withOptions("no-restrict")],
  ["a space between", false, withOptions("pty, user-rc")],
  ["a quote not closed", false, withOptions('environment="A=b')],
  ["a quote closed by a backslash", false, withOptions('environment="A=b\\"')],
  ["no quotes", false, withOptions("environment=A=b")],
  ["something behind a quote", false, withOptions('environment="A=b"x')],
  ["command twice", false, withOptions('command="a",command="a"')],
  ["an environment that is none", false, withOptions('environment="A-B=c"')],
  ["a port that is none", false, withOptions('permitopen="h:0"')],
  ["a tunnel that is none", false, withOptions('tunnel="x"')],
];

const from = (list: string) => withOptions(`from="${list}"`);
const until = (time: string) => withOptions(`expiry-time="${time}"`);
const CONDITIONS: readonly Row[] = [
  ["an address", true, from("127.0.0.1")],
  ["an address of IPv6", true, from("::1"), "::1"],
  ["a network", true, from("127.0.0.0/8")],
  ["a network of IPv6", true, from("::/64"), "::1"],
  ["a wildcard", true, from("127.*.?.1")],
  ["one of a list", true, from("10.0.0.0/8,*.example.com,127.0.0.1")],
  ["a not that does not fit", true, from("!10.0.0.0/8,*")],
  ["an address as C writes it", true, from("127.1")],
  ["another address", false, from("127.0.0.2")],
  ["another network", false, from("10.0.0.0/8")],
  ["a network of the other kind", false, from("0.0.0.0/0"), "::1"],
  ["an address of IPv4 in one of IPv6", false, from("::ffff:127.0.0.1")],
  ["the name of a host", false, from("localhost")],
  ["a not that fits", false, from("!127.0.0.1,*")],
  ["a not that fits, at the end", false, from("*,!127.0.0.0/8")],
  ["a not alone", false, from("!10.0.0.1")],
  ["a not of an address as C writes it", false, from("!0177.0.0.1,*")],
  ["a network with more than its mask", false, from("127.0.0.1/8")],
  ["an empty list", false, from("")],
  ["an empty pattern", false, from("127.0.0.1,")],
  ["from twice", false, withOptions('from="127.0.0.1",from="127.0.0.1"')],
  ["a day to come", true, until("20991231")],
  ["a minute to come", true, until("209912312359")],
  ["a second to come", true, until("20991231235959")],
  ["a second to come, in UTC", true, until("20991231235959Z")],
  ["a day that its month has not", true, until("20990231")],
  ["a day past", false, until("20200101")],
  ["a second past, in UTC", false, until("20200101000000Z")],
  ["the earlier of two", false, withOptions('expiry-time="20200101",expiry-time="20991231"')],
  ["no such month", false, until("20991301")],
  ["no time", false, until("never")],
  ["too short", false, until("2099")],
];

test("lines are read as sshd reads them", async () => {
  await using judge = await KeyJudge.start();
  await judgeAll(judge, LINES);
});

test("options are read as sshd reads them, and those that take the terminal away let nobody in", async () => {
  await using judge = await KeyJudge.start();
  await judgeAll(judge, OPTIONS);
});

test("a key is accepted at the same addresses and times as by sshd", async () => {
  await using judge = await KeyJudge.start();
  await judgeAll(judge, CONDITIONS);
});

test("files that nobody thought of are read as sshd reads them", async () => {
  await using judge = await KeyJudge.start();
  const option = fc.constantFrom(
    ...[
      "pty",
      "no-user-rc",
      "restrict",
      "cert-authority",
      "fun",
      "",
      "no-",
      '"',
      'command="a b"',
      "command=",
    ],
    ...['from="*"', 'from="127.0.0.0/8,!::1"', 'from="!*.1,::*"', 'environment="A=\\""', 'tunnel="any'],
    ...['expiry-time="20991231Z"', 'expiry-time="20200101"', 'permitopen="a:1"', 'permitlisten="*"'],
  );
  // `restrict,pty` is refused here, and accepted by sshd: below.
  const isJudgedAlike = (each: readonly string[]): boolean =>
    !(each.includes("restrict") && each.includes("pty"));
  const options = fc
    .array(option, { maxLength: 3 })
    .filter(isJudgedAlike)
    .map((each) => each.join(","));
  const gap = fc.constantFrom("", " ", "\t", "  ", "\r", "\0", "#");
  const key = fc.constantFrom(bare(judge.line), judge.line, judge.other, letters(judge.line), "ssh-ed25519");
  const line = fc.tuple(gap, options, gap, key, gap).map((parts) => parts.join(""));
  const file = fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join("\n"));
  for (const [at, text] of fc.sample(file, { seed: SEED, numRuns: scaled(60) }).entries()) {
    await judge.install(text);
    const { sshd, ttyhq } = await judge.judge(at % 5 === 0 ? "::1" : "127.0.0.1");
    expect({ text, isLetIn: ttyhq }).toEqual({ text, isLetIn: sshd });
  }
});

test("keys that only sshd accepts are listed: ttyhq is intentionally stricter", async () => {
  await using judge = await KeyJudge.start();
  const rows: readonly Row[] = [
    // The contract names the option; a later option that restores the terminal is meant for sshd.
    ["restrict,pty", false, withOptions("restrict,pty")],
    ["no-pty,pty", false, withOptions("no-pty,pty")],
    // ttyhq forwards nothing, so it does not know the names of ports.
    ["the name of a port", false, withOptions('permitopen="localhost:http"')],
    // At most MAX_AUTHORIZED_KEYS_BYTES are read.
    ["a larger file", false, (line) => `${line}\n${"#".repeat(1024 * 1024)}\n`],
  ];
  const verdicts: object[] = [];
  for (const [name, , file] of rows) {
    await judge.install(file(judge.line, judge.other));
    verdicts.push({ name, ...(await judge.judge()) });
  }
  expect(verdicts).toEqual(rows.map(([name]) => ({ name, sshd: true, ttyhq: false })));
  // Debian trusts a group without other members; upstream OpenSSH trusts none, and neither do we.
  await judge.install(judge.line);
  await chmod(judge.file, 0o660);
  expect(await judge.judge()).toEqual({ sshd: true, ttyhq: false });
});
