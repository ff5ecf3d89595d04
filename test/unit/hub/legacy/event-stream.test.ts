import { expect, test } from "vitest";
import { Hub } from "../../../../src/hub/hub.ts";
import { eventStream } from "../../../../src/hub/legacy/event-stream.ts";
import { MemorySessions } from "../memory-sessions.ts";

test("a stream whose client is closed ends after its events, whatever happens meanwhile", async () => {
  const sessions = new MemorySessions();
  using hub = new Hub({ backend: sessions, now: () => performance.now() });
  sessions.add("s");
  const { signal } = new AbortController();
  const stream = eventStream(
    (peer) => hub.connect(peer, { user: "me", address: undefined, kind: "login" }),
    signal,
  );
  let text = new TextDecoder().decode((await stream.next()).value ?? undefined);
  sessions.announce({ type: "session-start", timestamp: "", sessionId: "s" });
  for (const client of hub.clients) client.close(1001, "the server stops");
  await sessions.remove("s");
  for (const client of hub.clients) client.keepAlive();
  for await (const bytes of stream) text += new TextDecoder().decode(bytes);
  const types = text.split("\n").filter((line) => line.startsWith("event: "));
  expect(types).toEqual(["event: connected", "event: connected", "event: session-start"]);
  expect(hub.clients).toEqual([]);
});
