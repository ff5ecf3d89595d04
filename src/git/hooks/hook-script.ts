// The text of our git hooks: for `sh` alone. They wait for a few quick git commands only, and write nothing to the terminal.
import { z } from "zod";
import { CHECKED_OUT, DETACHED_REF } from "../follow/state.ts";

/** The hooks of follow mode (contract 7.4). Other changes are detected in git's files. */
export const HOOK_NAMES = ["post-checkout", "post-commit", "post-merge"] as const;
export type HookName = (typeof HOOK_NAMES)[number];

/** Second line of our hooks. */
const HOOK_MARK = "# ttyhq git hook";
/** The folder beside ours with the user's own hooks. */
export const KEPT_FOLDER = "ttyhq-kept";
const MADE_FOLDER = "# This folder was made for it.";

/** A hook creates and removes this file in the common directory where it cannot reach a session host. */
export const EVENT_FILE = "ttyhq-event";

/** How a hook reaches its session host: absolute paths, as hooks run with any PATH and as any user. */
export const HookTarget = z.object({ node: z.string(), main: z.string(), controlDir: z.string() });
export type HookTarget = Readonly<z.infer<typeof HookTarget>>;

/** How the user's own hook is run: sourced by its shell, or as a program. */
export type KeptHook = { readonly kind: "shell"; readonly shell: string } | { readonly kind: "program" };

export function hookScript(
  name: HookName,
  target: HookTarget | undefined,
  { kept, isFolderOurs }: { readonly kept: KeptHook | undefined; readonly isFolderOurs: boolean },
): string {
  return [
    "#!/bin/sh",
    `${HOOK_MARK} ${name}: tells the ttyhq server of this machine that something has changed (docs/follow-mode.md).`,
    `# \`ttyhq unfollow\` removes it. The hook that was here before is in ${KEPT_FOLDER}, and runs first.`,
    ...(isFolderOurs ? [MADE_FOLDER] : []),
    ...(kept === undefined ? ["code=0"] : runKept(name, kept)),
    ...(name === "post-checkout"
      ? ["# Files that were checked out are no change of branch.", '[ "$3" = 0 ] && exit $code']
      : []),
    "# A rebase tells once, by the file that ends it.",
    "case $GIT_REFLOG_ACTION in rebase*) exit $code ;; esac",
    ...(name === "post-checkout" ? RELEASE : []),
    ...tell(name, target),
    "exit $code",
    "",
  ].join("\n");
}

/** Whether we created the folder: uninstalling then removes it when it is empty. */
export function isFolderMade(script: string): boolean {
  return script.includes(`\n${MADE_FOLDER}\n`);
}

export function isOurHook(script: string): boolean {
  return script.split("\n", 2)[1]?.startsWith(HOOK_MARK) ?? false;
}

/**
 * How to run a hook, by its first line. Shell scripts are sourced, so that `$0` keeps its meaning;
 * others are run as programs.
 */
export function keptHook(firstBytes: string): KeptHook {
  const line = /^#![ \t]*([^\n]*)/.exec(firstBytes)?.[1]?.replace(/[ \t]+$/, "");
  if (line === undefined) return { kind: "program" };
  const words = line.split(/[ \t]+/).filter((word) => word !== "");
  const program = words[0]?.endsWith("/env") ? words.slice(1) : words;
  const isShell = /(?:^|\/)(?:sh|bash|dash|ash|ksh)$/.test(program[0] ?? "");
  const isPlain = words.every((word) => /^[A-Za-z0-9_./+-]+$/.test(word));
  return isShell && isPlain && program.length <= 2
    ? { kind: "shell", shell: words.join(" ") }
    : { kind: "program" };
}

/** One word for the shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function runKept(name: HookName, kept: KeptHook): readonly string[] {
  const run =
    kept.kind === "program"
      ? '"$kept" "$@"'
      : `${kept.shell} -c 'ttyhq_kept=$1; shift; . "$ttyhq_kept"' "$0" "$kept" "$@"`;
  return [
    // A name without a slash would be looked up in PATH.
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
    "case $0 in */*) kept=${0%/*} ;; *) kept=. ;; esac",
    `kept=$kept/${KEPT_FOLDER}/${name}`,
    "code=0",
    `if [ -x "$kept" ]; then ${run}; code=$?; fi`,
  ];
}

/**
 * After a switch in the followed worktree the main tree releases the shared branch, or git would refuse to switch back.
 * Like `detachInPlace` in follow/steps.ts, but without a server. Not during a merge in the main tree, nor during a
 * rebase or bisection in the worktree.
 */
const RELEASE: readonly string[] = [
  "release() {",
  "  common=$(git rev-parse --path-format=absolute --git-common-dir) || return",
  '  [ "$(git config --local ttyhq.followWorktree)" = "$(git rev-parse --show-toplevel)" ] || return',
  "  branch=refs/heads/$(git config --local ttyhq.followBranch) || return",
  '  [ "$(git symbolic-ref -q HEAD)" != "$branch" ] || return',
  "  here=$(git rev-parse --absolute-git-dir) || return",
  "  for work in rebase-merge rebase-apply BISECT_LOG; do",
  '    [ ! -e "$here/$work" ] || return',
  "  done",
  "  for work in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD; do",
  '    [ ! -e "$common/$work" ] || return',
  "  done",
  "  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_PREFIX",
  '  [ "$(git --git-dir="$common" symbolic-ref -q HEAD)" = "$branch" ] || return',
  `  at=$(tail -n 4 "$common/logs/HEAD" | grep -v '\t${CHECKED_OUT}$' | tail -n 1 | cut -d " " -f 2)`,
  '  [ -n "$at" ] || return',
  `  git --git-dir="$common" update-ref ${DETACHED_REF} "$at" &&`,
  '    git --git-dir="$common" update-ref --no-deref -m "ttyhq: left behind" HEAD "$at"',
  "}",
  "( release ) </dev/null >/dev/null 2>&1",
];

const SILENT = "</dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
const TOUCH = [
  "( event=$(git rev-parse --path-format=absolute --git-common-dir) &&",
  `  event=$event/${EVENT_FILE} && : >"$event" && rm -f "$event" ) ${SILENT}`,
];

/**
 * A detached process without git's descriptors, terminal signals and wait. Nothing starts without a server or its
 * program. Without a target the git worker sees a file.
 */
function tell(name: HookName, target: HookTarget | undefined): readonly string[] {
  if (target === undefined) return TOUCH;
  const [node, main, controlDir] = [target.node, target.main, target.controlDir].map(quoted);
  const isThere = `[ -S ${controlDir}/server.sock ] || [ -S ${controlDir}/host.sock ]`;
  const event = `git event --event ${name.slice("post-".length)} --control-dir ${controlDir}`;
  return [
    `if { ${isThere}; } && [ -x ${node} ] && [ -r ${main} ]; then`,
    "  apart=",
    "  command -v setsid >/dev/null 2>&1 && apart=setsid",
    `  ( trap '' HUP; NODE_OPTIONS= $apart ${node} ${main} ${event} & ) ${SILENT}`,
    "fi",
  ];
}
