// Apart from the configuration, which most commands of the command line do not load.
import { MAX_SOCKET_DIRECTORY_BYTES } from "../lib/os/unix-socket.ts";

/** A sentence if the paths of sockets in this absolute control directory would be too long. */
export function controlDirProblems(path: string): readonly string[] {
  const length = Buffer.byteLength(path);
  if (length <= MAX_SOCKET_DIRECTORY_BYTES) return [];
  return [
    `--control-dir: ${path} has ${length} bytes, must have at most ${MAX_SOCKET_DIRECTORY_BYTES}, because the paths of unix sockets in it are short by nature: give a shorter one, or a link to this one`,
  ];
}
