// Connections to a unix socket, possibly in a directory that sessions may write to, such as that of an external session host.
import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from "node:fs";
import { Agent, type AgentOptions } from "node:http";
import { connect, type Socket } from "node:net";
import { getSystemErrorName } from "node:util";
import { loadNative } from "../lib/os/installation.ts";

/** open(2): a descriptor of the file itself, without opening it. Node does not export it. */
const O_PATH = 0o10000000;

/** `noFollow`: only a socket of this user or root, and no symbolic link at the path. */
export type SocketTarget = { readonly socketPath: string; readonly noFollow?: boolean };

type Done = (error: Error | null, socket?: Socket) => void;

/** `platform`: another one than this, for tests. */
export function socketAgent(
  { socketPath, noFollow }: SocketTarget,
  options: AgentOptions = {},
  platform = process.platform,
): Agent {
  const connectSafely = platform === "linux" ? connectExactly : connectToTrusted;
  return Object.assign(new Agent(options), {
    createConnection: (_: unknown, done: Done): Socket | undefined => {
      if (noFollow !== true) return connect(socketPath);
      try {
        return connectSafely(socketPath, done);
      } catch (error) {
        done(asError(error));
        return undefined;
      }
    },
  });
}

/** Where a path can be replaced between its check and the connection: whose process answers is checked as well. */
function connectToTrusted(path: string, done: Done): undefined {
  check(path, lstatSync(path));
  const socket = connect(path);
  socket.once("error", done);
  socket.once("connect", () => {
    socket.off("error", done);
    try {
      checkUser(path, peerOf(socket));
    } catch (error) {
      socket.destroy();
      done(asError(error));
      return;
    }
    done(null, socket);
  });
}

/** The id of the user whose process is at the other end. */
function peerOf(socket: Socket): number {
  // Node does not export the descriptor.
  const handle: unknown = Reflect.get(socket, "_handle");
  const fd = typeof handle === "object" && handle !== null && "fd" in handle ? handle.fd : undefined;
  const uid: number = loadNative("ttyhq.node").peerUser(fd);
  if (uid < 0) throw new Error(`it is unknown whose process answers: ${getSystemErrorName(uid)}`);
  return uid;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Connects to the socket that was checked, even if the path is replaced meanwhile. */
function connectExactly(path: string): Socket {
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
  checkUser(path, stats.uid);
}

function checkUser(path: string, uid: number): void {
  if (uid !== 0 && uid !== process.geteuid?.())
    throw new Error(`the socket ${path} belongs to another user (${uid})`);
}
