// Connections to a unix socket in a directory that sessions may write to, such as that of an external session host.
import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from "node:fs";
import { Agent, type AgentOptions } from "node:http";
import { connect, type IpcNetConnectOpts, type Socket } from "node:net";

/** open(2): a descriptor of the file itself, without opening it. Node does not export it. */
const O_PATH = 0o10000000;

/** Connects only to a socket of this user or root, and follows no symbolic link at the path. */
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

/** Connects to the socket that was checked, even if the path is replaced meanwhile. */
export function connectExactly(path: string, options: Pick<IpcNetConnectOpts, "onread"> = {}): Socket {
  if (process.platform !== "linux") {
    check(path, lstatSync(path));
    return connect({ path, ...options });
  }
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    check(path, fstatSync(fd));
    // Connects synchronously: the descriptor is not needed afterwards.
    return connect({ path: `/proc/self/fd/${fd}`, ...options });
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
