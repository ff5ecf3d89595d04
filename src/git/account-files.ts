import { ServiceError } from "../protocol/errors.ts";
import type { Files, FoundFile } from "./files.ts";
import type { Git } from "./git.ts";
import { MAX_FILE_BYTES, ownFiles } from "./own-files.ts";

/** Four lines: what it is, its permissions and length, where it leads, its first bytes; nothing where there is none. */
const LOOK = `
[ -L "$1" ] || [ -e "$1" ] || exit 0
if [ -L "$1" ]; then echo link; elif [ -f "$1" ]; then echo file; else echo other; fi
stat -c '%a %s' -- "$1" || exit
if [ -L "$1" ]; then readlink -n -- "$1" | base64 | tr -d '\\n'; fi
echo
if [ -f "$1" ]; then head -c "$2" -- "$1" | base64 | tr -d '\\n'; fi
echo`;
const WRITE = `
umask 077
new=$(mktemp "$1.XXXXXXXX") || exit
base64 -d > "$new" && chmod -- "$2" "$new" && mv -fT -- "$new" "$1" && exit
code=$?; rm -f -- "$new"; exit $code`;
const MAKE_FOLDER = `[ -d "$1" ] || { mkdir -p -- "$1" && echo made; }`;
const IS_WRITABLE = `
at=$1
while [ ! -e "$at" ] && [ "$at" != / ]; do at=$(dirname -- "$at"); done
[ -d "$at" ] && [ -w "$at" ] && [ -x "$at" ] && echo yes || :`;
const KEEP = `ln -P -- "$1" "$2" 2>/dev/null || mv -fT -- "$1" "$2"`;
const LINK = `rm -f -- "$2" && ln -s -- "$1" "$2"`;
const MOVE = `mv -fT -- "$1" "$2"`;
const REMOVE = `rm -f -- "$1"`;
const REMOVE_EMPTY = `rmdir -- "$1" 2>/dev/null || :`;

/** As the user that `git` runs as. */
export function filesOf(git: Git): Files {
  return git.account === undefined ? ownFiles : accountFiles(git);
}

/** Files as the system user that `git` runs as, in shells of that user's. */
export function accountFiles(git: Git): Files {
  const act = async (script: string, args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await git.act(script, args, input);
    if (code === 0) return stdout;
    const message = stderr.trim().split("\n")[0] ?? `it ended with ${code}`;
    const isDenied = /: (?:Permission denied|Read-only file system|Operation not permitted)$/m.test(stderr);
    throw new ServiceError(isDenied ? "forbidden" : "git_failed", `${args.at(-1)}: ${message}`);
  };
  return {
    look: async (path) => parseLook(await act(LOOK, [path, `${MAX_FILE_BYTES}`])),
    write: async (path, bytes, mode) =>
      void (await act(WRITE, [path, mode.toString(8)], Buffer.from(bytes).toString("base64"))),
    makeFolder: async (path) => (await act(MAKE_FOLDER, [path])) !== "",
    isWritable: async (folder) => (await act(IS_WRITABLE, [folder])) !== "",
    keep: async (path, kept) => void (await act(KEEP, [path, kept])),
    link: async (target, path) => void (await act(LINK, [target, path])),
    move: async (from, to) => void (await act(MOVE, [from, to])),
    remove: async (path) => void (await act(REMOVE, [path])),
    removeEmpty: async (path) => void (await act(REMOVE_EMPTY, [path])),
  };
}

function parseLook(text: string): FoundFile | undefined {
  if (text === "") return undefined;
  const [kind = "", facts = "", target = "", content = ""] = text.split("\n");
  const [mode = "", size = ""] = facts.split(" ");
  return {
    bytes: Buffer.from(content, "base64"),
    isWhole: kind === "file" && Number(size) <= MAX_FILE_BYTES,
    mode: Number.parseInt(mode, 8),
    target: kind === "link" ? Buffer.from(target, "base64").toString("utf8") : undefined,
  };
}
