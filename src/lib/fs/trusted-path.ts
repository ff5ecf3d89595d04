// Checks that only this user and root control a path, for files that contain secrets. docs/security.md explains the rules.
import { lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ServiceError } from "../../protocol/errors.ts";

const STICKY = 0o1000;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;
const WRITABLE_BY_OTHERS = WRITABLE_BY_GROUP | WRITABLE_BY_ALL;
const PERMISSIONS = 0o7777;
const ROOT = 0;
/** The kernel's limit. */
const MAX_LINKS = 40;
/** Name service sources that /etc/passwd and /etc/group list completely. */
const LOCAL_SOURCES = /^(?:files|compat|systemd|\[.*\])$/;

/** This process, and the system's users and mounts; made up in tests. */
export type TrustContext = {
  readonly uid: number;
  readonly pid: number;
  /** The texts of /etc/passwd, /etc/group, /etc/nsswitch.conf and /proc/self/mountinfo; "" if missing. */
  readonly passwd: string;
  readonly group: string;
  readonly nsswitch: string;
  readonly mountinfo: string;
};

type Component = { readonly path: string; readonly stats: Stats };

/**
 * ServiceError `start_failed` unless the path, and every directory and symbolic link on the way, belongs to this user
 * or root and is writable by nobody else. A missing file is trusted if its parent is. Exceptions: a sticky directory
 * may be writable by all if the entry passed in it belongs to this user or root; a group without other users may
 * write; on a read-only mount owners and directories do not matter (file secrets of Compose, ConfigMaps). Such a path
 * cannot change between this check and its use.
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

/** Throws as checkTrustedPath and readFileSync. */
export function readTrustedFile(path: string): Uint8Array {
  checkTrustedPath(path);
  return readFileSync(path);
}

/** ServiceError `start_failed` for a symbolic link, and for an entry that another user owns or that others may write. */
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

/** `platform`: another one than this, for tests. */
export function trustContext(platform = process.platform): TrustContext {
  const read = (path: string): string => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return "";
    }
  };
  return {
    ...{ uid: process.geteuid?.() ?? ROOT, pid: process.pid },
    ...{ passwd: read("/etc/passwd"), group: read("/etc/group") },
    // The files of macOS list no people.
    nsswitch: platform === "darwin" ? "passwd: opendirectory" : read("/etc/nsswitch.conf"),
    mountinfo: read("/proc/self/mountinfo"),
  };
}

/** Nobody else may replace `next` in the directory `at`, or create it. */
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

/** As in Debian's sshd. With other sources of users the files do not list all members. */
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
    // The last of several mounts at one place is visible.
    if (point === "" || !isAbove || at.length < longest.length) continue;
    longest = at;
    isReadOnly = options.split(",").includes("ro");
  }
  return isReadOnly;
}

/** A shell's `<(command)` or standard input: already open, not found by path. */
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
