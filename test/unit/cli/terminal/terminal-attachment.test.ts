import { expect, test } from "vitest";
import { watchLink } from "../../../../src/cli/terminal/terminal-attachment.ts";
import { Emitter } from "../../../../src/lib/async/emitter.ts";
import type { ConnectionState } from "../../../../src/protocol/client/connection.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

const error = new ServiceError("host_unreachable", "gone");

function setUp(state: ConnectionState = { kind: "open" }) {
  const states = new Emitter<ConnectionState>();
  const said: string[] = [];
  const lost = Promise.withResolvers<void>();
  const socket = { state, onState: (listener: (state: ConnectionState) => void) => states.on(listener) };
  const notice = watchLink(socket, {
    lost: () => {
      said.push("lost");
      lost.resolve();
    },
    restored: () => void said.push("restored"),
    closed: (reason) => void said.push(`closed ${reason?.message}`),
  });
  return { states, said, lost: lost.promise, notice };
}

test("a planned restart of the server is reported only when it takes longer than announced", async () => {
  const { states, said, lost, notice } = setUp();
  using _notice = notice;
  states.emit({ kind: "connecting", isPlanned: true });
  states.emit({ kind: "waiting", until: 0, error, isPlanned: true });
  states.emit({ kind: "open" });
  expect(said).toEqual(["restored"]);
  states.emit({ kind: "connecting", isPlanned: true });
  // This restart takes longer than announced.
  states.emit({ kind: "waiting", until: 0, error });
  await lost;
  states.emit({ kind: "closed", error });
  expect(said).toEqual(["restored", "lost", "closed gone"]);
});

test("a connection that was lost before watching began is reported", async () => {
  const closed = setUp({ kind: "closed", error });
  using _closed = closed.notice;
  expect(closed.said).toEqual(["closed gone"]);
  const waiting = setUp({ kind: "waiting", until: 0, error });
  using _waiting = waiting.notice;
  await waiting.lost;
  const open = setUp();
  using _open = open.notice;
  expect(open.said).toEqual([]);
});
