import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  bindAddress,
  byteCount,
  httpOrigin,
  integer,
  isTrue,
  limit,
  machineLabel,
  origin,
  path,
  remoteName,
  userName,
} from "../../../../src/config/options/value.ts";
import { RemoteUrl } from "../../../../src/protocol/schemas/remote.ts";

test.each([
  ["1", 1],
  ["256MiB", 268_435_456],
  ["256mib", 268_435_456],
  ["10 GB", 10_000_000_000],
  ["5kB", 5_000],
  ["1TiB", 2 ** 40],
  ["7b", 7],
])("%s is %i bytes", (text, bytes) => expect(byteCount(text)).toBe(bytes));

test.each(["0", "", "-1", "1.5MB", "5M", "5 k", "1e6", "MiB", "99999999999999TiB", "5  MB", "0x10"])(
  "%j is not a number of bytes",
  (text) => expect(() => byteCount(text)).toThrow(RangeError),
);

test("a limit of 0 is no limit", () => {
  expect(limit("0")).toBeUndefined();
  expect(limit("5")).toBe(5);
});

test.each(["a b", "a,b", "a:b", "../a", "", "a\n", "x".repeat(256)])("%j is not a user name", (text) => {
  expect(() => userName(text)).toThrow(RangeError);
});

test.each(["example.com", "::1", "[::1]", "10.0.0.1", "fe80::1%eth0"])(
  "%s is an address to listen on",
  (text) => {
    expect(bindAddress(text)).toBe(text.replaceAll(/[[\]]/g, ""));
  },
);

test.each([
  ["https://hq.example.com", "https://hq.example.com"],
  ["https://HQ.example.com:443/", "https://hq.example.com"],
  ["http://hq:80", "http://hq"],
  ["http://remote_1:4020", "http://remote_1:4020"],
  ["http://[::1]:4020", "http://[::1]:4020"],
])("%s is the origin %s", (text, origin) => expect(httpOrigin(text)).toBe(origin));

test("a label of a machine is a key and a value", () => {
  expect(machineLabel("gpu=true")).toEqual(["gpu", "true"]);
  expect(machineLabel("example.com/pool=")).toEqual(["example.com/pool", ""]);
});

test.each(["", "gpu", "=true", "a b=c", "a=b=c", "a=b c", "-a=b", `${"x".repeat(64)}=y`])(
  "%j is not a label",
  (text) => {
    expect(() => machineLabel(text)).toThrow(RangeError);
  },
);

test("every accepted origin is valid for an HQ", () =>
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webUrl(),
        fc.string().map((rest) => `http://${rest}`),
      ),
      (text) => {
        try {
          const origin = httpOrigin(text);
          expect(RemoteUrl.parse(origin)).toBe(origin);
          expect(new URL(origin).origin).toBe(origin);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      },
    ),
  ));

test("a parser returns a value or throws RangeError with the requirement", () => {
  const parsers = [
    byteCount,
    limit,
    integer(0, 65_535),
    isTrue,
    bindAddress,
    origin,
    userName,
    path,
    httpOrigin,
    remoteName,
  ];
  return fc.assert(
    fc.property(fc.constantFrom(...parsers), fc.string({ unit: "binary" }), (parse, text) => {
      try {
        parse(text);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
        expect(String(error)).toContain("must be");
      }
    }),
    { numRuns: 2_000 },
  );
});
