import fc from "fast-check";
import { expect, test } from "vitest";
import { isAllowedFrom } from "../../../../src/auth/ssh/address-patterns.ts";

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["192.0.2.7", "10.0.0.1,192.0.2.7"],
  ["192.0.2.7", "192.0.2.0/24"],
  ["192.0.2.7", "0.0.0.0/0"],
  ["192.0.2.7", "192.0.*"],
  ["192.0.2.7", "192.0.2.?"],
  ["192.0.2.7", "*"],
  ["192.0.2.7", "!10.0.0.0/8,*"],
  ["192.0.2.7", "192.519"],
  ["192.0.2.7", "10.0.0.0/,*"],
  ["192.0.2.7", "10.0.0.0/8/8,*"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::ffff:c000:207", "192.0.2.*"],
  ["2001:db8::1", "2001:db8::/32"],
  ["2001:db8::1", "2001:0DB8:0::1"],
  ["2001:db8::1", "2001:DB8::*"],
  ["2001:0DB8:0:0:0::1", "2001:db8::1"],
  ["fe80::1%eth0", "fe80::*"],
  ["fe80::1%eth0", "!fe80::/10,*"],
  ["192.0.2.7", "127.0.0.1/129,*"],
])("%s is allowed by %s", (address, list) => {
  expect(isAllowedFrom(list, address)).toBe(true);
});

test.each([
  ["192.0.2.7", "192.0.2.8"],
  ["192.0.2.7", "198.51.100.0/24,10.*"],
  ["192.0.2.7", "!192.0.2.7"],
  ["192.0.2.7", "!192.0.2.0/24,*"],
  ["192.0.2.7", "*,!192.0.2.?"],
  ["192.0.2.7", "!*.2.7,192.0.2.7"],
  ["192.0.2.7", "!0300.0.2.7,*"],
  ["192.0.2.7", "example.com"],
  ["192.0.2.7", "::ffff:192.0.2.7"],
  ["192.0.2.7", "::/0"],
  ["2001:db8::1", "0.0.0.0/0"],
  ["fe80::1%eth0", "fe80::/10"],
  ["192.0.2.7", ""],
  ["192.0.2.7", "192.0.2.7,"],
  ["192.0.2.7", "192.0.2.7,!"],
  ["192.0.2.7", "192.0.2.7,,*"],
  ["192.0.2.7", "192.0.2.7/24,*"],
  ["192.0.2.7", "192.0.2.0/33,*"],
  ["192.0.2.7", "192.0.2.0/+24,*"],
  ["192.0.2.7", " 192.0.2.7"],
  ["", "*"],
  ["somewhere", "*"],
])("%s is not allowed by %s", (address, list) => {
  expect(isAllowedFrom(list, address)).toBe(false);
});

test("a client without an address is never allowed", () => {
  expect(isAllowedFrom("*", undefined)).toBe(false);
});

test("a pattern that is longer than sshd allows ends the list of names", () => {
  const long = "x".repeat(1_023);
  expect(isAllowedFrom(`2001:DB8::*,${long}`, "2001:db8::1")).toBe(false);
  expect(isAllowedFrom(`2001:DB8::*,${long.slice(1)}`, "2001:db8::1")).toBe(true);
  expect(isAllowedFrom(`2001:db8::*,${long}`, "2001:db8::1")).toBe(true);
});

test("a network allows its own addresses and no others", () => {
  const ip = fc.nat({ max: 0xffffffff });
  const dotted = (bits: number) => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
  fc.assert(
    fc.property(ip, ip, fc.integer({ min: 1, max: 32 }), (one, other, bits) => {
      const mask = (0xffffffff << (32 - bits)) >>> 0;
      const net = `${dotted((one & mask) >>> 0)}/${bits}`;
      expect(isAllowedFrom(net, dotted(one))).toBe(true);
      expect(isAllowedFrom(`*,!${net}`, dotted(one))).toBe(false);
      expect(isAllowedFrom(net, dotted(other))).toBe((one & mask) === (other & mask));
    }),
  );
});

test("no list and no address makes the check throw", () => {
  const near = fc.string({ unit: fc.constantFrom(..."0123456789abf:.%/,!*?") });
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), near, fc.string());
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ unit: "binary" })), address, (list, from) => {
      expect(typeof isAllowedFrom(list, from)).toBe("boolean");
    }),
    { numRuns: 1_000 },
  );
});
