import { LiveStatus } from "../../../src/git/status/live-status.ts";
import { SessionFolders } from "../../../src/repositories/session-folders.ts";
import type { StatusSource } from "../../../src/sessions/user-folders.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { describeBackend } from "./conformance.ts";
import { ownTerminals } from "./own-terminals.ts";

describeBackend("sessions with what is known of their repository", async () => {
  const room = await GitRoom.make();
  const log = { warn: () => {} };
  const now = (): number => performance.now();
  const live: LiveStatus = new LiveStatus({
    ...{ program: room.program, log, now },
    onStatus: (cwd, status) => folders.learned(cwd, status),
  });
  const folders = new SessionFolders({ now, onState: (cwd, state) => live.set(cwd, state) });
  const source: StatusSource = {
    enter: ({ cwd }, options) => folders.enter(cwd, options),
    viewed: () => new DisposableStack(),
    asked: () => live.check(),
    on: () => new DisposableStack(),
    [Symbol.asyncDispose]: async () => live[Symbol.dispose](),
  };
  const terminals = await ownTerminals({ folders: source });
  return {
    backend: terminals.backend,
    place: { cwd: await room.repository() },
    [Symbol.asyncDispose]: async () => {
      await terminals[Symbol.asyncDispose]();
      await room[Symbol.asyncDispose]();
    },
  };
});
