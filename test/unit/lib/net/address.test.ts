import { isIP } from "node:net";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { addressKey, isLoopbackAddress, isLoopbackName } from "../../../../src/lib/net/address.ts";

test.each(["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1", "::FFFF:127.1.2.3"])(
  "%s is this machine",
  (address) => expect(isLoopbackAddress(address)).toBe(true),
);

test.each([
  "128.0.0.1",
  "127.1",
  "127.0.0.1.example.com",
  "::2",
  "::ffff:10.0.0.1",
  "",
  "localhost",
  "0.0.0.0",
])("%j is no loopback address", (address) => expect(isLoopbackAddress(address)).toBe(false));

test.each(["localhost", "LocalHost", "app.localhost", "127.0.0.1", "::1"])("%s names this machine", (name) =>
  expect(isLoopbackName(name)).toBe(true),
);

test.each(["localhost.example.com", "notlocalhost", "localhost.", "127.0.0.1.nip.io", "example.com", ""])(
  "%j may name another machine",
  (name) => expect(isLoopbackName(name)).toBe(false),
);

test("an IPv4 address and the same one written as IPv6 are counted as one", () => {
  expect(addressKey("::ffff:10.1.2.3")).toBe(addressKey("10.1.2.3"));
  expect(addressKey("10.1.2.3")).not.toBe(addressKey("10.1.2.4"));
});

test.each([
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"],
  ["2001:0db8:0001:0002::", "2001:db8:1:2::9"],
  ["fe80::1%eth0", "fe80::2"],
  ["::1", "::"],
  ["1::8", "1:0:0:0:1:2:3:4"],
  ["64:ff9b::1.2.3.4", "64:ff9b::5"],
])("%s and %s are in one network", (one, other) => expect(addressKey(one)).toBe(addressKey(other)));

test("IPv6 addresses of different networks are counted apart", () => {
  expect(addressKey("2001:db8:1:2::1")).not.toBe(addressKey("2001:db8:1:3::1"));
});

test("a peer without an address has a key", () => {
  expect(addressKey(undefined)).toBe("local");
});

test("every address has a key, short and stable", () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string());
  return fc.assert(
    fc.property(address, (text) => {
      const key = addressKey(text);
      expect(key.length).toBeLessThanOrEqual(26);
      expect(addressKey(text)).toBe(key);
      if (isIP(text) === 6 && !text.toLowerCase().startsWith("::ffff:"))
        expect(key).toMatch(/^([0-9a-f]{1,4}:){4}:\/64$/);
    }),
  );
});
