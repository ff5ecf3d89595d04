import { expect, test } from "vitest";
import { formatRedisAddress, parseRedisAddress } from "../../../../src/lib/net/redis-address.ts";

const reveal = (text: string) => {
  const address = parseRedisAddress(text);
  const password = address?.password && new TextDecoder().decode(address.password.bytes());
  return address && { ...address, password };
};

test("an address has what is given, and the defaults of Redis for the rest", () => {
  expect(reveal("redis://redis.example.com")).toEqual({
    ...{ isTls: false, host: "redis.example.com", port: 6379, database: 0 },
    ...{ username: undefined, password: undefined },
  });
  expect(reveal("rediss://me:p%40ss%2Fword@[::1]:6380/12")).toEqual({
    ...{ isTls: true, host: "::1", port: 6380, database: 12 },
    ...{ username: "me", password: "p@ss/word" },
  });
  expect(reveal("redis://:secret@10.0.0.1/")).toMatchObject({ username: undefined, password: "secret" });
});

test("anything else is no address", () => {
  for (const text of [
    "",
    "redis.example.com:6379",
    "http://redis.example.com",
    "redis://",
    "redis:///0",
    "redis://a/zero",
    "redis://a/0/1",
    "redis://a?db=1",
    "redis://a#b",
    "redis://:%zz@a",
    "redis://a:99999",
  ]) {
    expect([text, parseRedisAddress(text)]).toEqual([text, undefined]);
  }
});

test("an address is shown without its credentials", () => {
  for (const [text, shown] of [
    ["redis://me:secret@redis.example.com", "redis://redis.example.com:6379"],
    ["rediss://:secret@[::1]:7/3", "rediss://[::1]:7/3"],
  ] as const) {
    const address = parseRedisAddress(text);
    expect(address && formatRedisAddress(address)).toBe(shown);
    expect(JSON.stringify(address)).not.toContain("secret@");
    expect(JSON.stringify(address)).toContain("[secret]");
  }
});
