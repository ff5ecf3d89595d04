// The server's own sessions, at an HQ whose users may have any name.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SessionView, sessionAccess } from "../../../src/access/session-access.ts";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import { Fleet } from "../../../src/hq/fleet.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { CreateSession, type SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { memoryRegistry } from "../../unit/hq/memory-store.ts";
import { ownTerminals, TESTER } from "../backend/own-terminals.ts";
import { codeOf } from "../backend/stage.ts";

const scope = new AsyncDisposableStack();
const events: ServerEvent[] = [];
let admin: SessionView;
let namesake: SessionView;
let own: SessionRecord;

beforeAll(async () => {
  const terminals = scope.use(await ownTerminals());
  const registry = await memoryRegistry();
  const fleet = scope.use(
    new Fleet({
      ...{ registry, local: terminals.backend, log: { info: () => {}, warn: () => {} } },
      targetOf: () => ({ socketPath: "" }),
      connect: () => {
        throw new Error("no remote joins this fleet");
      },
    }),
  );
  fleet.watch((event) => events.push(event));
  const { viewOf } = sessionAccess(
    fleet,
    ({ rights }) => rights,
    () => undefined,
  );
  admin = viewOf({ rights: ALL });
  // A user of the HQ with the same name as the user of the machine's sessions.
  namesake = viewOf({ rights: OWN, owner: TESTER });
  own = await admin.sessions.create(CreateSession.parse({ command: ["cat"], remoteId: "local" }));
});
afterAll(() => scope.disposeAsync());

test("a user with the name of the server's own user does not see the server's own sessions", async () => {
  expect((await admin.sessions.list()).map(({ id }) => id)).toEqual([own.id]);
  expect(await namesake.sessions.list()).toEqual([]);
});

test("nor can that user read, type into or end them", async () => {
  const attempts = [
    namesake.sessions.get(own.id),
    namesake.sessions.write(own.id, new TextEncoder().encode("id\r")),
    namesake.sessions.remove(own.id),
    namesake.sessions.subscribe(own.id, () => {}),
  ];
  expect(await Promise.all(attempts.map(codeOf))).toEqual(attempts.map(() => "session_not_found"));
});

test("nor hears of them", () => {
  expect(events.filter(({ sessionId }) => sessionId === own.id)).not.toEqual([]);
  expect(events.filter((event) => namesake.shown(event) !== undefined)).toEqual([]);
});

test("that user's own sessions are seen by both", async () => {
  const request = CreateSession.parse({ command: ["cat"], remoteId: "local", owner: TESTER });
  const { id } = await admin.sessions.create(request);
  expect((await namesake.sessions.list()).map((session) => session.id)).toEqual([id]);
});
