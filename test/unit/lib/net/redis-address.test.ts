import { expect, test } from "vitest";
import { formatRedisAddress, parseRedisAddress } from "../../../../src/lib/net/redis-address.ts";
import type { Secret } from "../../../../src/lib/secret.ts";

const reveal = (url: string) => {
  const address = parseRedisAddress(url);
  const text = (secret: Secret | undefined) => secret && new TextDecoder().decode(secret.bytes());
  const { password, sentinel } = address ?? {};
  const known = sentinel && { ...sentinel, password: text(sentinel.password) };
  return address && { ...address, password: text(password), sentinel: known };
};

test("an address has what is given, and the defaults of Redis for the rest", () => {
  expect(reveal("redis://redis.example.com")).toEqual({
    ...{ isTls: false, hosts: [{ host: "redis.example.com", port: 6379 }], database: 0 },
    ...{ username: undefined, password: undefined, sentinel: undefined },
  });
  expect(reveal("rediss://me:p%40ss%2Fword@[::1]:6380/12")).toEqual({
    ...{ isTls: true, hosts: [{ host: "::1", port: 6380 }], database: 12 },
    ...{ username: "me", password: "p@ss/word", sentinel: undefined },
  });
  expect(reveal("redis://:secret@10.0.0.1/")).toMatchObject({ username: undefined, password: "secret" });
});

test("an address of Sentinels has all of them, the name of the master, and both logins", () => {
  expect(reveal("redis+sentinel://one,two:7/main")).toEqual({
    ...{ isTls: false, database: 0, username: undefined, password: undefined },
    hosts: [
      { host: "one", port: 26379 },
      { host: "two", port: 7 },
    ],
    sentinel: { master: "main", username: undefined, password: undefined },
  });
  const both = "sentinel-username=him&sentinel-password=w+rd%26";
  expect(reveal(`rediss+sentinel://me:p%40ss@[::1]/my%20main/3?${both}`)).toEqual({
    ...{ isTls: true, database: 3, username: "me", password: "p@ss" },
    hosts: [{ host: "::1", port: 26379 }],
    sentinel: { master: "my main", username: "him", password: "w+rd&" },
  });
  expect(reveal("redis+sentinel://one/main?sentinel-password=word")?.sentinel?.password).toBe("word");
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
    "redis+sentinel://a",
    "redis+sentinel://a/",
    "redis+sentinel://a,/main",
    "redis+sentinel://a:99999/main",
    "redis+sentinel://a/main/zero",
    "redis+sentinel://a/main?password=word",
    "redis+sentinel://a/main?sentinel-password=%zz",
    "redis+sentinel://:%zz@a/main",
    "redis+sentinel://a/%zz",
  ]) {
    expect([text, parseRedisAddress(text)]).toEqual([text, undefined]);
  }
});

test("an address is shown without its credentials", () => {
  for (const [text, shown] of [
    ["redis://me:secret@redis.example.com", "redis://redis.example.com:6379"],
    ["rediss://:secret@[::1]:7/3", "rediss://[::1]:7/3"],
    [
      "redis+sentinel://:secret@[::1],b/main/3?sentinel-password=another",
      "redis+sentinel://[::1]:26379,b:26379/main/3",
    ],
  ] as const) {
    const address = parseRedisAddress(text);
    expect(address && formatRedisAddress(address)).toBe(shown);
    expect(JSON.stringify(address)).not.toContain("secret@");
    expect(JSON.stringify(address)).toContain("[secret]");
  }
});
