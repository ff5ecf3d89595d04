// Connections to a unix socket in a folder that programs of sessions may write to, as that of an external session host is.
import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from "node:fs";
import { Agent, type AgentOptions } from "node:http";
import { connect, type IpcNetConnectOpts, type Socket } from "node:net";

/** open(2): what is at a path, without opening it. Node has no name for it. */
const O_PATH = 0o10000000;

/** Its connections lead to a socket of this user's, or root's, that is at this path itself: no link is followed. */
export function exactAgent(path: string, options: AgentOptions = {}): Agent {
  return Object.assign(new Agent(options), {
    createConnection: (_: unknown, done: (error: Error) => void): Socket | undefined => {
      try {
        return connectExactly(path);
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
        return undefined;
      }
    },
  });
}

/** What was looked at is what is connected to, whatever is put at the path meanwhile. */
export function connectExactly(path: string, options: Pick<IpcNetConnectOpts, "onread"> = {}): Socket {
  if (process.platform !== "linux") {
    check(path, lstatSync(path));
    return connect({ path, ...options });
  }
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    check(path, fstatSync(fd));
    // The system is asked at once: the descriptor is not needed any more.
    return connect({ path: `/proc/self/fd/${fd}`, ...options });
  } finally {
    closeSync(fd);
  }
}

function check(path: string, stats: Stats): void {
  if (!stats.isSocket()) throw new Error(`${path} is no socket, as a link is none`);
  const { uid } = stats;
  if (uid !== 0 && uid !== process.geteuid?.())
    throw new Error(`${path} is a socket of another user (${uid})`);
}
