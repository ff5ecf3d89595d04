import express from "express";
import { expect, test } from "vitest";
import type { Avatar } from "../../../src/auth/accounts/methods.ts";
import type { Context } from "../../../src/http/route.ts";
import { avatarRoutes } from "../../../src/http/routes/avatar-routes.ts";

const BYTES = new Uint8Array([0xff, 0xd8, 0xff, 0xe0]);
const PHOTO: Avatar = {
  type: "image/jpeg",
  content: Buffer.from(BYTES).toString("base64"),
  source: "dscl",
};

async function askRoute(routes: ReturnType<typeof avatarRoutes>, userId: string, accept?: string) {
  const request: Pick<express.Request, "accepts"> = Object.create(express.request, {
    headers: { value: { accept } },
  });
  const context: Context<undefined> = {
    ...{ principal: undefined, identified: async () => undefined, address: "10.0.0.1" },
    accepts: (...types) => request.accepts(types),
    ...{ range: undefined, lastEventId: undefined, signal: new AbortController().signal },
  };
  const answer = await routes.avatar?.({ params: { userId }, query: undefined, body: undefined }, context);
  if (answer === undefined) throw new Error("there is no such route");
  if (!(answer.body instanceof Uint8Array)) throw new Error("the avatar is streamed");
  return { ...answer, bytes: new Uint8Array(answer.body) };
}

async function ask(userId: string, accept?: string, photo: Avatar | "none" = PHOTO) {
  const accounts = { avatar: async () => (photo === "none" ? undefined : photo) };
  const routes = avatarRoutes({ serverUser: "ada", platform: "darwin", accounts, now: () => 0 });
  return await askRoute(routes, userId, accept);
}

test("the server's own user has the system's avatar", async () => {
  const { type, bytes, length, headers } = await ask("ada");
  expect([type, bytes, length]).toEqual(["image/jpeg", BYTES, 4]);
  expect(headers).toMatchObject({ "cache-control": "private, max-age=3600", vary: "accept" });
});

test("the system is asked once an hour", async () => {
  let [asked, now] = [0, 0];
  const accounts = { avatar: async () => void asked++ };
  const routes = avatarRoutes({ serverUser: "ada", platform: "darwin", accounts, now: () => now });
  await Promise.all([1, 2, 3].map(() => askRoute(routes, "ada")));
  expect(asked).toBe(1);
  now = 3_600_001;
  await askRoute(routes, "ada");
  expect(asked).toBe(2);
});

test("all other users have one generic avatar, which runs and loads nothing", async () => {
  const [other, nobody, without] = [
    await ask("bob"),
    await ask("no.such_user-1"),
    await ask("ada", undefined, "none"),
  ];
  for (const { type, bytes, headers } of [other, nobody, without]) {
    expect([type, bytes]).toEqual(["image/svg+xml", other.bytes]);
    expect(headers?.["cache-control"]).toMatch(/^public, /);
  }
  const svg = new TextDecoder().decode(other.bytes);
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  expect(svg).not.toMatch(/script|href|style|on\w+=/);
});

test.each<[accept: string | undefined, isJson: boolean]>([
  [undefined, false],
  ["*/*", false],
  ["image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", false],
  ["application/json", true],
  ["application/json, text/plain, */*", true],
  ["Application/JSON;q=0.9", true],
  ["image/*, application/json;q=0.5", false],
  ["application/json;q=0", false],
  ["application/json;q=nonsense", false],
  [",;,;q=,", false],
])("Accept: %s gets JSON: %s", async (accept, isJson) => {
  const { type } = await ask("ada", accept);
  expect(type === "application/json; charset=utf-8").toBe(isJson);
});

test("the JSON answer has the form that old clients know", async () => {
  const json = async (userId: string, avatar?: Avatar) => {
    const { bytes } = await ask(userId, "application/json", avatar);
    return JSON.parse(new TextDecoder().decode(bytes));
  };
  expect(await json("ada", PHOTO)).toEqual({
    ...{ avatar: "data:image/jpeg;base64,/9j/4A==", platform: "darwin", source: "dscl" },
  });
  expect(await json("bob", PHOTO)).toEqual({ avatar: null, platform: "darwin" });
});

test.each([
  ["../../etc/passwd", "Invalid user ID format"],
  ["a b", "Invalid user ID format"],
  ["", "Invalid user ID format"],
  ["a\0", "Invalid user ID format"],
  ["<svg/onload=alert(1)>", "Invalid user ID format"],
  ["x".repeat(256), "User ID too long"],
])("%j is refused in the old words", async (userId, message) => {
  await expect(ask(userId)).rejects.toMatchObject({ code: "invalid_request", message });
});
