// Whether nobody but this user and root decides what is found at a path: asked of everything that secrets are read from
// and kept in. docs/security.md has the rules in words.
import { lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ServiceError } from "../../protocol/errors.ts";

const STICKY = 0o1000;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;
const WRITABLE_BY_OTHERS = WRITABLE_BY_GROUP | WRITABLE_BY_ALL;
const PERMISSIONS = 0o7777;
const ROOT = 0;
/** As the kernel allows in one path. */
const MAX_LINKS = 40;
/** Sources of users and groups that the two files below list completely. */
const LOCAL_SOURCES = /^(?:files|compat|systemd|\[.*\])$/;

/** Who asks, and what the system says of its users and mounts; made up in tests. */
export type TrustContext = {
  readonly uid: number;
  readonly pid: number;
  /** The texts of /etc/passwd, /etc/group, /etc/nsswitch.conf and /proc/self/mountinfo; "" where there is none. */
  readonly passwd: string;
  readonly group: string;
  readonly nsswitch: string;
  readonly mountinfo: string;
};

type Component = { readonly path: string; readonly stats: Stats };

/**
 * Throws `start_failed` unless the path, and every directory and symbolic link on the way to it, belongs to this user or
 * root and can be written by nobody else. What does not exist yet is trusted when its parent is. Exceptions: a sticky
 * directory may be writable by all when what is passed in it belongs to this user or root; a group may write that no
 * other user is in; on a read-only mount neither owners nor directories matter (file secrets of Compose, ConfigMaps).
 *
 * Such a path cannot change between this check and its use.
 */
export function checkTrustedPath(path: string, context: TrustContext = trustContext()): void {
  const names = namesOf(resolve(path)).toReversed();
  let at: Component = { path: "/", stats: lstatSync("/") };
  checkOwner(at, path, context);
  for (let links = 0, name = names.pop(); name !== undefined; name = names.pop()) {
    if (isOwnDescriptors(at.path, context.pid)) return;
    const next = name === ".." ? existing(dirname(at.path)) : existing(join(at.path, name));
    checkEntry(at, next, { path, context });
    if (next === undefined) return;
    checkOwner(next, path, context);
    if (!next.stats.isSymbolicLink()) {
      at = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw new ServiceError("start_failed", `${path} has too many symbolic links`);
    const target = readlinkSync(next.path);
    names.push(...namesOf(target).toReversed());
    if (target.startsWith("/")) at = { path: "/", stats: lstatSync("/") };
  }
  checkEntry(at, undefined, { path, context });
}

/** The bytes of a file at a trusted path, or of a pipe. Throws as checkTrustedPath, and as readFileSync. */
export function readTrustedFile(path: string): Uint8Array {
  checkTrustedPath(path);
  return readFileSync(path);
}

/**
 * Throws `start_failed` for a file, directory or link in a private directory that this user did not make: a symbolic link,
 * or what belongs to somebody else or can be written by others.
 */
export function checkOwnEntry(path: string, context: TrustContext = trustContext()): void {
  const entry = existing(path);
  if (entry === undefined) return;
  const { stats } = entry;
  if (stats.isSymbolicLink()) throw untrusted(entry, "is a symbolic link", `rm ${path}`);
  if (!stats.isFile() && !stats.isDirectory()) return;
  if (stats.uid !== context.uid)
    throw untrusted(entry, "belongs to another user", `chown ${context.uid} ${path}`);
  checkMode(entry, path, context);
}

export function trustContext(): TrustContext {
  const read = (path: string): string => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return "";
    }
  };
  return {
    ...{ uid: process.geteuid?.() ?? ROOT, pid: process.pid },
    ...{ passwd: read("/etc/passwd"), group: read("/etc/group"), nsswitch: read("/etc/nsswitch.conf") },
    mountinfo: read("/proc/self/mountinfo"),
  };
}

/** Nobody else may exchange `next`, which is reached through the directory `at`, or write `at` where nothing is. */
function checkEntry(
  at: Component,
  next: Component | undefined,
  { path, context }: { readonly path: string; readonly context: TrustContext },
): void {
  const isSticky = (at.stats.mode & STICKY) !== 0;
  const isKept = next === undefined || isTrustedOwner(next.stats, context);
  if (!(isSticky && isKept)) checkMode(at, path, context);
}

function checkOwner(entry: Component, path: string, context: TrustContext): void {
  if (isTrustedOwner(entry.stats, context) || isOnReadOnlyMount(entry.path, context)) return;
  const way = `chown ${context.uid} ${entry.path}`;
  throw untrusted(entry, `belongs to another user${danger(entry, path)}`, way);
}

function checkMode(entry: Component, path: string, context: TrustContext): void {
  const { stats } = entry;
  if ((stats.mode & WRITABLE_BY_OTHERS) === 0 || stats.isSymbolicLink()) return;
  if (stats.isFIFO() || stats.isCharacterDevice()) return;
  if (stats.isDirectory() && isOnReadOnlyMount(entry.path, context)) return;
  if ((stats.mode & WRITABLE_BY_ALL) === 0 && isGroupOfNoOther(stats.gid, context)) return;
  throw untrusted(entry, `is writable by others${danger(entry, path)}`, `chmod go-w ${entry.path}`);
}

function danger(entry: Component, path: string): string {
  return entry.path === resolve(path) ? "" : `, who could exchange ${path}`;
}

function untrusted({ path, stats }: Component, what: string, way: string): ServiceError {
  const mode = (stats.mode & PERMISSIONS).toString(8).padStart(4, "0");
  return new ServiceError(
    "start_failed",
    `${path} (owner ${stats.uid}, group ${stats.gid}, mode ${mode}) ${what}: ${way}`,
  );
}

function isTrustedOwner({ uid }: Stats, context: TrustContext): boolean {
  return uid === ROOT || uid === context.uid;
}

/** As of Debian's sshd. Where users come from elsewhere, too, the files do not tell all members of a group. */
function isGroupOfNoOther(gid: number, context: TrustContext): boolean {
  if (!isListedLocally(context.nsswitch)) return false;
  const users = linesOf(context.passwd).map(([name, , uid, group]) => ({
    name,
    uid: Number(uid),
    group: Number(group),
  }));
  const isOther = ({ uid }: { readonly uid: number }): boolean => uid !== ROOT && uid !== context.uid;
  if (users.some((user) => user.group === gid && isOther(user))) return false;
  const members = linesOf(context.group)
    .filter(([, , id]) => Number(id) === gid)
    .flatMap(([, , , names = ""]) => names.split(","))
    .filter((name) => name !== "");
  return members.every((member) => users.some((user) => user.name === member && !isOther(user)));
}

function isListedLocally(nsswitch: string): boolean {
  return nsswitch
    .split("\n")
    .map((line) => /^\s*(?:passwd|group|initgroups)\s*:([^#]*)/.exec(line)?.[1] ?? "")
    .flatMap((sources) => sources.split(/\s+(?![^[]*\])/))
    .every((source) => source === "" || LOCAL_SOURCES.test(source));
}

function isOnReadOnlyMount(path: string, { mountinfo }: TrustContext): boolean {
  let longest = "";
  let isReadOnly = false;
  for (const line of mountinfo.split("\n")) {
    const [, , , , point = "", options = ""] = line.split(" ");
    const at = point.replaceAll(/\\([0-7]{3})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    );
    const isAbove = at === "/" || path === at || path.startsWith(`${at}/`);
    // Of several mounts at one place the last one is seen.
    if (point === "" || !isAbove || at.length < longest.length) continue;
    longest = at;
    isReadOnly = options.split(",").includes("ro");
  }
  return isReadOnly;
}

/** A shell's `<(command)`, or standard input: handed over open, found by no path. */
function isOwnDescriptors(directory: string, pid: number): boolean {
  return directory === "/dev/fd" || directory === `/proc/${pid}/fd`;
}

function existing(path: string): Component | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats && { path, stats };
}

function linesOf(text: string): readonly (readonly string[])[] {
  return text.split("\n").map((line) => line.split(":"));
}

function namesOf(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
