// Repositories that run a program when git reads them: each leaves a file behind if it runs.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { GitRoom } from "../harness/git-repository.ts";

export type Trap = {
  readonly name: string;
  /** Makes the repository hostile: git is to run `program`. */
  set(room: GitRoom, repository: string, program: string): Promise<void>;
  /**
   * A plain git command that runs the trap, in the folder below the repository; without one plain git does not run it
   * either.
   */
  readonly springs?: readonly [folder: string, ...args: string[]];
};

/** An edit of equal length, so that git must compare the contents through the filters. */
async function edit(room: GitRoom, repository: string): Promise<void> {
  await room.write(join(repository, "a.txt"), "one\ntwo\nTHREE\n");
}

async function attribute(room: GitRoom, repository: string, line: string): Promise<void> {
  await room.write(join(repository, ".gitattributes"), `${line}\n`);
  await room.commit(repository);
  await edit(room, repository);
}

function config(room: GitRoom, repository: string, ...entry: readonly string[]): Promise<string> {
  return room.git(repository, "config", ...entry);
}

/** The objects of HEAD are missing, and are to be fetched from there. */
async function promise(room: GitRoom, repository: string, url: string): Promise<void> {
  await config(room, repository, "core.repositoryFormatVersion", "1");
  await config(room, repository, "extensions.partialClone", "origin");
  await config(room, repository, "remote.origin.promisor", "true");
  await config(room, repository, "remote.origin.url", url);
  for (const protocol of ["ext", "ssh", "file", "git"]) {
    await config(room, repository, `protocol.${protocol}.allow`, "always");
  }
  await config(room, repository, "protocol.allow", "always");
  const tree = await room.git(repository, "rev-parse", "HEAD^{tree}");
  await rm(join(repository, ".git/objects", tree.slice(0, 2), tree.slice(2)));
}

export const TRAPS: readonly Trap[] = [
  {
    name: "core.fsmonitor",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await config(room, repository, "core.fsmonitor", program);
    },
  },
  {
    name: "the hook post-index-change",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await room.script(join(repository, ".git/hooks/post-index-change"), program);
      await room.write(join(repository, "folder/b.txt"), "b\n");
    },
  },
  {
    name: "core.hooksPath",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await room.script(join(repository, "hooks/post-index-change"), program);
      await config(room, repository, "core.hooksPath", "hooks");
      await room.write(join(repository, "folder/b.txt"), "b\n");
    },
  },
  {
    name: "a filter's clean",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await attribute(room, repository, "*.txt filter=evil");
      await config(room, repository, "filter.evil.clean", program);
    },
  },
  {
    name: "a filter's process that is required",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await attribute(room, repository, "*.txt filter=evil");
      await config(room, repository, "filter.evil.process", program);
      await config(room, repository, "filter.evil.required", "true");
    },
  },
  {
    name: "a filter whose name has an equals sign",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await attribute(room, repository, "*.txt filter=a=b.c");
      await config(room, repository, "filter.a=b.c.clean", program);
    },
  },
  {
    name: "attributes in the git directory",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await room.write(join(repository, ".git/info/attributes"), "* filter=evil\n");
      await config(room, repository, "filter.evil.clean", program);
      await edit(room, repository);
    },
  },
  {
    name: "a filter in an included file",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await attribute(room, repository, "*.txt filter=evil");
      await room.write(join(repository, ".git/more"), `[filter "evil"]\nclean = ${program}\n`);
      await config(room, repository, "include.path", "more");
    },
  },
  {
    name: "a filter in the config of one worktree",
    springs: ["tree", "status"],
    set: async (room, repository, program) => {
      const tree = await treeWithFilter(room, repository);
      await config(room, repository, "extensions.worktreeConfig", "true");
      await room.git(tree, "config", "--worktree", "filter.evil.clean", program);
      await edit(room, tree);
    },
  },
  {
    name: "a filter included on one branch",
    springs: ["tree", "status"],
    set: async (room, repository, program) => {
      const tree = await treeWithFilter(room, repository);
      await room.write(join(repository, ".git/more"), `[filter "evil"]\nclean = ${program}\n`);
      await config(room, repository, "includeIf.onbranch:side.path", join(repository, ".git/more"));
      await edit(room, tree);
    },
  },
  {
    name: "core.fsmonitor in the config of one worktree",
    springs: ["tree", "status"],
    set: async (room, repository, program) => {
      const tree = await treeWithFilter(room, repository);
      await config(room, repository, "extensions.worktreeConfig", "true");
      await room.git(tree, "config", "--worktree", "core.fsmonitor", program);
    },
  },
  {
    name: "a worktree that is another repository",
    springs: ["other", "status"],
    set: async (room, repository, program) => {
      await treeWithFilter(room, repository);
      const other = await room.repository(`${repository.slice(room.path.length)}/other`);
      await attribute(room, other, "*.txt filter=evil");
      await config(room, other, "filter.evil.clean", program);
      await writeFile(join(repository, ".git/worktrees/tree/gitdir"), `${other}/.git\n`);
    },
  },
  {
    name: "a worktree that shares another repository's config",
    springs: ["tree", "status"],
    set: async (room, repository, program) => {
      const tree = await treeWithFilter(room, repository);
      const other = await room.repository(`${repository.slice(room.path.length)}/other`);
      await config(room, other, "filter.evil.clean", program);
      await room.git(other, "fetch", "--quiet", repository, "+refs/*:refs/*", "--update-head-ok");
      await writeFile(join(repository, ".git/worktrees/tree/commondir"), `${other}/.git\n`);
      await edit(room, tree);
    },
  },
  {
    name: "diff.external",
    springs: [".", "diff"],
    set: async (room, repository, program) => {
      await edit(room, repository);
      await config(room, repository, "diff.external", program);
    },
  },
  {
    name: "a diff driver's command",
    springs: [".", "diff"],
    set: async (room, repository, program) => {
      await attribute(room, repository, "*.txt diff=evil");
      await config(room, repository, "diff.evil.command", program);
      await branchOff(room, repository);
    },
  },
  {
    name: "a diff driver's textconv",
    springs: [".", "diff"],
    set: async (room, repository, program) => {
      await attribute(room, repository, "*.txt diff=evil");
      await config(room, repository, "diff.evil.textconv", program);
      await branchOff(room, repository);
    },
  },
  {
    name: "a missing object that a program is to fetch",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await promise(room, repository, `ext::${program}`);
    },
  },
  {
    name: "a missing object, and remote.origin.uploadpack",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await promise(room, repository, repository);
      await config(room, repository, "remote.origin.uploadpack", program);
    },
  },
  {
    name: "a missing object, and core.sshCommand",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await promise(room, repository, "ssh://localhost/x");
      await config(room, repository, "core.sshCommand", program);
    },
  },
  {
    name: "a missing object, and core.gitProxy",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      await promise(room, repository, "git://localhost/x");
      await config(room, repository, "core.gitProxy", program);
    },
  },
  {
    name: "a missing object, and a remote helper of its own",
    set: async (room, repository, program) => {
      await promise(room, repository, "x");
      await config(room, repository, "remote.origin.vcs", program);
    },
  },
  {
    name: "core.fsmonitor of a submodule",
    springs: [".", "status"],
    set: async (room, repository, program) => {
      const inner = await room.repository(`${repository.slice(room.path.length)}-inner`);
      await room.git(repository, "submodule", "--quiet", "add", inner, "sub");
      await room.commit(repository);
      await room.git(join(repository, "sub"), "config", "core.fsmonitor", program);
      await config(room, repository, "submodule.sub.update", `!${program}`);
      await config(room, repository, "submodule.recurse", "true");
      await config(room, repository, "status.submoduleSummary", "true");
      await config(room, repository, "diff.submodule", "log");
    },
  },
  {
    name: "signatures that are shown",
    springs: [".", "log"],
    set: async (room, repository, program) => {
      const tree = await room.git(repository, "rev-parse", "HEAD^{tree}");
      const who = "A <a@b> 1700000000 +0000";
      const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
      const text = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n${signature}\n\nsigned\n`;
      await room.write(join(repository, ".git/signed"), text);
      const commit = await room.git(repository, "hash-object", "-t", "commit", "-w", ".git/signed");
      await room.git(repository, "update-ref", "refs/heads/main", commit);
      await config(room, repository, "log.showSignature", "true");
      await config(room, repository, "gpg.program", program);
    },
  },
  {
    name: "aliases, pagers, editors and helpers",
    set: async (room, repository, program) => {
      for (const name of ["status", "worktree", "for-each-ref", "rev-parse", "config", "rev-list"]) {
        await config(room, repository, `alias.${name}`, `!${program}`);
        await config(room, repository, `pager.${name}`, program);
      }
      for (const key of ["core.pager", "core.editor", "core.askPass", "credential.helper"]) {
        await config(room, repository, key, program);
      }
    },
  },
  {
    name: "alternates, and core.alternateRefsCommand",
    set: async (room, repository, program) => {
      const other = await room.repository(`${repository.slice(room.path.length)}-other`);
      await room.write(join(repository, ".git/objects/info/alternates"), `${other}/.git/objects\n`);
      await config(room, repository, "core.alternateRefsCommand", program);
    },
  },
  {
    name: "a bare repository among the files",
    springs: ["plain", "status"],
    set: async (room, repository, program) => {
      const bare = join(repository, "plain");
      await room.git(repository, "init", "--quiet", "--bare", bare);
      await room.git(bare, "config", "core.bare", "false");
      await room.git(bare, "config", "core.worktree", repository);
      await room.git(bare, "config", "core.fsmonitor", program);
    },
  },
];

async function treeWithFilter(room: GitRoom, repository: string): Promise<string> {
  await room.write(join(repository, ".gitattributes"), "*.txt filter=evil\n");
  await room.write(join(repository, ".gitignore"), "tree\n");
  await room.commit(repository);
  return await room.worktree(repository, "side", join(repository, "tree"));
}

async function branchOff(room: GitRoom, repository: string): Promise<void> {
  const tree = await room.worktree(repository, "side", join(repository, "tree"));
  await edit(room, tree);
  await room.git(tree, "commit", "--quiet", "--all", "-m", "edit");
}
