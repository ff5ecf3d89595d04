import fc from "fast-check";
import { expect, test } from "vitest";
import { readAddress, withoutMapping } from "../../../../src/auth/ssh/address-patterns.ts";

test.each([
  ["127.0.0.1", 0x7f000001n],
  ["127.1", 0x7f000001n],
  ["127.0.1", 0x7f000001n],
  ["0x7f000001", 0x7f000001n],
  ["0X7F.1", 0x7f000001n],
  ["2130706433", 0x7f000001n],
  ["0177.0.0.01", 0x7f000001n],
  ["0", 0n],
  ["255.255.255.255", 0xffffffffn],
  ["1.2.65535", 0x0102ffffn],
])("%s is an IPv4 address, as C parses it", (text, bits) => {
  expect(readAddress(text)).toBe(bits.toString(2).padStart(32, "0"));
});

test.each([
  ["::", 0n],
  ["::1", 1n],
  ["1::", 1n << 112n],
  ["2001:DB8::8:800:200c:417a", 0x20010db80000000000080800200c417an],
  ["1:2:3:4:5:6:7:8", 0x00010002000300040005000600070008n],
  ["::ffff:10.1.2.3", 0xffff0a010203n],
  ["64:ff9b::192.0.2.33", 0x64ff9b0000000000000000c0000221n],
])("%s is an IPv6 address", (text, bits) => {
  expect(readAddress(text)).toBe(bits.toString(2).padStart(128, "0"));
});

test.each([
  ...[
    "",
    "1.2.3.4.5",
    "256.1.1.1",
    "1.2.65536",
    "4294967296",
    "08.1.1.1",
    "0x",
    "1..2",
    " 1.2.3.4",
    "1.2.3.4 ",
  ],
  ...[
    "localhost",
    "1.2.3.*",
    "10.0.0.0/8",
    ":::",
    "1:2",
    "::12345",
    "fe80::1%eth0",
    "+1",
    "1e3",
    "9".repeat(64),
  ],
])("%j is none", (text) => {
  expect(readAddress(text)).toBeUndefined();
});

test("an IPv4-mapped IPv6 address is that IPv4 address", () => {
  expect(withoutMapping(readAddress("::ffff:10.1.2.3") ?? "")).toBe(readAddress("10.1.2.3"));
  const other = readAddress("::1") ?? "";
  expect(withoutMapping(other)).toBe(other);
});

test("every formatted address is parsed again, and no text makes it throw", () => {
  fc.assert(fc.property(fc.ipV6(), (text) => readAddress(text)?.length === 128));
  fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV4Extended()), (text) => readAddress(text)?.length === 32));
  const near = fc.string({ unit: fc.constantFrom(..."0123456789abcdefx:.%/") });
  fc.assert(fc.property(fc.oneof(fc.string(), near), (text) => void readAddress(text)));
});
