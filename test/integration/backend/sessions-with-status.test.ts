import { LiveStatus } from "../../../src/git/status/live-status.ts";
import { type FactSource, SessionsWithStatus } from "../../../src/sessions/sessions-with-status.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { describeBackend } from "./conformance.ts";
import { ownTerminals } from "./own-terminals.ts";

describeBackend("sessions with what is known of their repository", async () => {
  const terminals = await ownTerminals();
  const room = await GitRoom.make();
  const log = { warn: () => {} };
  const facts = new LiveStatus({ program: room.program, log, now: () => performance.now() });
  const source: FactSource = {
    enter: ({ cwd }, options) => facts.enter(cwd, options),
    viewed: () => new DisposableStack(),
    asked: () => facts.asked(),
    on: () => new DisposableStack(),
    [Symbol.asyncDispose]: async () => facts[Symbol.dispose](),
  };
  const backend = new SessionsWithStatus({ backend: terminals.backend, source });
  backend.begin(() => ({ account: undefined }));
  return {
    backend,
    place: { cwd: await room.repository() },
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]();
      await terminals[Symbol.asyncDispose]();
      await room[Symbol.asyncDispose]();
    },
  };
});
