import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkOwnEntry, checkTrustedPath, trustContext } from "../../lib/fs/trusted-path.ts";
import { errorMessage, ServiceError } from "../../protocol/errors.ts";

/** The sticky bit of shared directories such as /tmp. */
const STICKY = 0o1000;
const HOST_SOCKET = "host.sock";

/** The persistent files of a server and its session host. */
export type ControlDir = ReturnType<typeof filesIn>;

function filesIn(path: string, hostSocket = join(path, HOST_SOCKET)) {
  const at = (name: string): string => join(path, name);
  return {
    path,
    /** The session host's socket; its clients are trusted. */
    hostSocket,
    sessions: at("sessions"),
    session: (id: string): SessionFiles => sessionFiles(join(path, "sessions", id)),
    /** The server's socket: whoever can open it is the server's own user. */
    serverSocket: at("server.sock"),
    /** Of a remote that dials: the socket for its HQ's connections. It takes the HQ's token alone. */
    tunnelSocket: at("tunnel.sock"),
    hostLog: at("host.log"),
    secret: at("jwt-secret"),
    /** Valid logins and share links, unless they are in a shared registry. */
    logins: at("logins.json"),
    audit: auditFiles(path),
    /** Followed repositories. */
    follow: at("follow.json"),
    /** Second factors: public keys, and hashes of recovery codes. */
    passkeys: at("passkeys.json"),
    /** Exists while the server is cordoned. */
    cordon: at("cordon.json"),
    /** Of an HQ: its remotes. */
    registry: at("registry.json"),
    /** Of a remote: its id at the HQ. */
    remoteId: at("remote-id.json"),
    /** Of a remote: its key at the HQ. */
    remoteKey: at("remote-key.json"),
    /** Of an HQ: its join tokens, as hashes, and the public keys of its remotes. */
    joining: at("joining.json"),
  } as const;
}

/**
 * Creates the directory with mode 0700. Throws `start_failed`, also if others could replace it or have written into it.
 * `hostSocket`: a socket elsewhere, to which a link in the directory leads.
 */
export function openControlDir(path: string, hostSocket?: string): ControlDir {
  const files = filesIn(path, hostSocket);
  try {
    checkTrustedPath(dirname(path));
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (isShared(path)) throw new Error("others have files in it");
    closeToOthers(path);
    mkdirSync(files.sessions, { recursive: true, mode: 0o700 });
    if (hostSocket !== undefined) {
      rmSync(join(path, HOST_SOCKET), { force: true });
      symlinkSync(hostSocket, join(path, HOST_SOCKET));
    }
    return files;
  } catch (cause) {
    const reason = errorMessage(cause);
    const message = `cannot use ${path} as the control directory (${reason}): give one of your own with --control-dir`;
    throw new ServiceError("start_failed", message, { cause });
  }
}

function closeToOthers(path: string): void {
  const context = trustContext();
  checkTrustedPath(path, context);
  chmodSync(path, 0o700);
  for (const name of readdirSync(path)) {
    if (name !== HOST_SOCKET || !isOwnLink(join(path, name))) checkOwnEntry(join(path, name), context);
  }
}

function isOwnLink(path: string): boolean {
  const found = lstatSync(path);
  return found.isSymbolicLink() && found.uid === process.geteuid?.();
}

/** `log`: unless another file was named. `head`: its sealed last line. `key`: of the seal. */
export function auditFiles(controlDir: string): Readonly<Record<"log" | "head" | "key", string>> {
  return {
    log: join(controlDir, "audit.log"),
    head: join(controlDir, "audit-head.json"),
    key: join(controlDir, "audit-key"),
  };
}

/** A shared directory in use; a new file system is empty. */
function isShared(path: string): boolean {
  if ((statSync(path).mode & STICKY) === 0) return false;
  const names = readdirSync(path);
  return names.length > 0 && !names.includes("sessions");
}

/** The files of one session; `output` and `events` are the journal. */
export type SessionFiles = Readonly<ReturnType<typeof sessionFiles>>;

export function sessionFiles(directory: string) {
  return {
    directory,
    record: join(directory, "session.json"),
    output: join(directory, "output"),
    events: join(directory, "events"),
    recording: join(directory, "recording.cast"),
    checkpoint: join(directory, "checkpoint"),
  };
}
