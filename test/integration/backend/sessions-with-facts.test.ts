import { FolderFacts } from "../../../src/git/folder-facts.ts";
import { SessionsWithFacts } from "../../../src/sessions/sessions-with-facts.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { describeBackend } from "./conformance.ts";
import { ownTerminals } from "./own-terminals.ts";

describeBackend("sessions with what is known of their repository", async () => {
  const terminals = await ownTerminals();
  const room = await GitRoom.make();
  const log = { warn: () => {} };
  const source = new FolderFacts({ program: room.program, log, now: () => performance.now() });
  const backend = new SessionsWithFacts({ backend: terminals.backend, source });
  backend.begin(() => undefined);
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
