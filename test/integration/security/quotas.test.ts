// What one user may have at a time, so that the others have room left.
import { expect, test } from "vitest";
import { MAX_USER_SOCKETS } from "../../../src/http/upgrade.ts";
import { eventually } from "../harness/eventually.ts";
import { logIn, passwordServer } from "../harness/password-server.ts";
import { openSocket, shakeHands } from "../harness/raw-http.ts";

test("a user has so many connections and no more, until one of them is closed", async () => {
  await using server = await passwordServer("inline");
  const token = await logIn(server);
  const path = `/ws?token=${token}`;
  const opened = await Promise.all(
    Array.from({ length: MAX_USER_SOCKETS }, () => openSocket(server.url, path)),
  );
  expect(opened.filter(({ answer }) => answer.status === 101)).toHaveLength(MAX_USER_SOCKETS);
  expect(await shakeHands(server.url, path)).toMatchObject({ status: 429, json: { code: "rate_limited" } });
  opened[0]?.socket?.destroy();
  const again = async () => (await shakeHands(server.url, path)).status === 101 || undefined;
  await eventually(again, "room for another connection");
  for (const { socket } of opened) socket?.destroy();
});
