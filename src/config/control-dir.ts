// Apart from the configuration, which most commands of the command line do not load.
/** The longest path of a unix socket on all systems: 103 bytes on macOS, 107 on Linux. */
const MAX_SOCKET_PATH_BYTES = 103;
/** The longest name below the directory (lib/os/unix-socket.ts). */
const LONGEST_NAME = "/server.sock.d/12345678";
const MAX_SOCKET_DIRECTORY_BYTES = MAX_SOCKET_PATH_BYTES - LONGEST_NAME.length;

/** A sentence if the paths of sockets in this absolute control directory would be too long. */
export function controlDirProblems(path: string): readonly string[] {
  const length = Buffer.byteLength(path);
  if (length <= MAX_SOCKET_DIRECTORY_BYTES) return [];
  return [
    `--control-dir: ${path} has ${length} bytes, must have at most ${MAX_SOCKET_DIRECTORY_BYTES}, because the paths of unix sockets in it are short by nature: give a shorter one, or a link to this one`,
  ];
}
