// Connections to a unix socket, possibly in a directory that sessions may write to, such as that of an external session host.
import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from "node:fs";
import { Agent, type AgentOptions } from "node:http";
import { connect, type Socket } from "node:net";

/** open(2): a descriptor of the file itself, without opening it. Node does not export it. */
const O_PATH = 0o10000000;

/** `noFollow`: only a socket of this user or root, and no symbolic link at the path. */
export type SocketTarget = { readonly socketPath: string; readonly noFollow?: boolean };

export function socketAgent({ socketPath, noFollow }: SocketTarget, options: AgentOptions = {}): Agent {
  return Object.assign(new Agent(options), {
    createConnection: (_: unknown, done: (error: Error) => void): Socket | undefined => {
      if (noFollow !== true) return connect(socketPath);
      try {
        return connectExactly(socketPath);
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
        return undefined;
      }
    },
  });
}

/** Connects to the socket that was checked, even if the path is replaced meanwhile. */
function connectExactly(path: string): Socket {
  if (process.platform !== "linux") {
    check(path, lstatSync(path));
    return connect(path);
  }
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    check(path, fstatSync(fd));
    // Connects synchronously: the descriptor is not needed afterwards.
    return connect(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

function check(path: string, stats: Stats): void {
  if (!stats.isSocket()) throw new Error(`${path} is not a socket; symbolic links are not followed`);
  const { uid } = stats;
  if (uid !== 0 && uid !== process.geteuid?.())
    throw new Error(`the socket ${path} belongs to another user (${uid})`);
}
