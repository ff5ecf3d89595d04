import { execFile } from "node:child_process";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { HOOK_NAMES, type HookTarget, quoted } from "../../../../src/git/hooks/hook-script.ts";
import { installHooks, planHooks, removeHooks } from "../../../../src/git/hooks/hooks.ts";

const run = promisify(execFile);

class Folder implements AsyncDisposable {
  readonly path: string;
  /** Without a server socket, so that hooks start nothing. */
  readonly target: HookTarget;

  private constructor(path: string) {
    this.path = path;
    this.target = { node: "/usr/bin/env", main: "/etc/hosts", controlDir: join(path, "no server") };
  }

  static async make(): Promise<Folder> {
    return new Folder(await mkdtemp(join(tmpdir(), "ttyhq hooks ' ")));
  }

  get hooks(): string {
    return join(this.path, "hooks");
  }

  async put(name: string, text: string, mode = 0o755): Promise<void> {
    await mkdir(this.hooks, { recursive: true });
    await writeFile(join(this.hooks, name), text);
    await chmod(join(this.hooks, name), mode);
  }

  async install(): Promise<void> {
    await installHooks({ path: this.hooks, tracked: [], isDenied: false }, this.target);
  }

  async remove(): Promise<void> {
    await removeHooks(this.hooks);
  }

  async run(name: string, ...args: readonly string[]): Promise<{ code: number; stdout: string }> {
    try {
      const { stdout } = await run(join(this.hooks, name), args, { cwd: this.path });
      return { code: 0, stdout };
    } catch (error) {
      return { code: Number(fieldOf(error, "code")), stdout: String(fieldOf(error, "stdout")) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}

describe("installed and removed hooks", () => {
  test("leave no trace after their removal in a folder that had none", async () => {
    await using folder = await Folder.make();
    await folder.install();
    expect((await readdir(folder.hooks)).sort()).toEqual([...HOOK_NAMES].sort());
    expect((await stat(join(folder.hooks, "post-commit"))).mode & 0o777).toBe(0o755);
    await folder.remove();
    await expect(stat(folder.hooks)).rejects.toThrow("ENOENT");
  });

  test("change nothing when they are installed twice", async () => {
    await using folder = await Folder.make();
    await folder.put("post-commit", "#!/bin/sh\necho mine\n");
    await folder.install();
    const first = await stat(join(folder.hooks, "post-commit"));
    const text = await readFile(join(folder.hooks, "post-commit"), "utf8");
    await folder.install();
    expect((await stat(join(folder.hooks, "post-commit"))).ino).toBe(first.ino);
    expect(await readFile(join(folder.hooks, "post-commit"), "utf8")).toBe(text);
    expect((await folder.run("post-commit")).stdout).toBe("mine\n");
  });

  test("restore any earlier file: the same inode, bytes and mode", async () => {
    await using folder = await Folder.make();
    await mkdir(folder.hooks);
    const path = join(folder.hooks, "post-commit");
    const modes = fc.constantFrom(0o755, 0o700, 0o750, 0o644, 0o600);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), modes, async (bytes, mode) => {
        await writeFile(path, bytes);
        await chmod(path, mode);
        const before = await stat(path);
        await folder.install();
        await folder.install();
        await folder.remove();
        const after = await stat(path);
        expect([after.ino, after.mode, after.mtimeMs]).toEqual([before.ino, before.mode, before.mtimeMs]);
        expect(new Uint8Array(await readFile(path))).toEqual(bytes);
        expect(await readdir(folder.hooks)).toEqual(["post-commit"]);
        await rm(path);
      }),
      { numRuns: 30 },
    );
  });

  test("run the earlier hook first, and pass its arguments and exit code on", async () => {
    await using folder = await Folder.make();
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
    await folder.put("post-merge", '#!/bin/sh\nprintf "%s|" "${0##*/}" "$@"\nexit 7\n');
    await folder.install();
    expect(await folder.run("post-merge", "a b", "'c'")).toEqual({ code: 7, stdout: "post-merge|a b|'c'|" });
  });

  test("let the earlier hook find the files beside it, as husky's do", async () => {
    await using folder = await Folder.make();
    await folder.put("post-commit", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n');
    await folder.put("h", 'echo "found by $(basename "$0")"\n', 0o644);
    await folder.install();
    expect((await folder.run("post-commit")).stdout).toBe("found by post-commit\n");
  });

  test("run an earlier hook of another language under its own name", async () => {
    await using folder = await Folder.make();
    await folder.put(
      "post-commit",
      `#!${process.execPath}\nconsole.log(process.argv[1].split("/").pop(), process.argv[2]);\n`,
    );
    await folder.install();
    expect((await folder.run("post-commit", "x")).stdout).toBe("post-commit x\n");
  });

  test("keep a symbolic link, run its target and restore it", async () => {
    await using folder = await Folder.make();
    await folder.put("shared.sh", "#!/bin/sh\necho shared\n");
    await symlink("shared.sh", join(folder.hooks, "post-commit"));
    await folder.install();
    expect((await folder.run("post-commit")).stdout).toBe("shared\n");
    await folder.remove();
    expect((await lstat(join(folder.hooks, "post-commit"))).isSymbolicLink()).toBe(true);
    expect(await readlink(join(folder.hooks, "post-commit"))).toBe("shared.sh");
  });

  test("do not run an earlier hook that is not executable", async () => {
    await using folder = await Folder.make();
    await folder.put("post-commit", "#!/bin/sh\necho never\n", 0o644);
    await folder.install();
    expect((await folder.run("post-commit")).stdout).toBe("");
  });

  test("keep the newer hook when ours was replaced", async () => {
    await using folder = await Folder.make();
    await folder.put("post-commit", "#!/bin/sh\necho old\n");
    await folder.install();
    await rm(join(folder.hooks, "post-commit"));
    await folder.put("post-commit", "#!/bin/sh\necho new\n");
    await folder.install();
    expect((await folder.run("post-commit")).stdout).toBe("new\n");
    await folder.remove();
    expect(await readFile(join(folder.hooks, "post-commit"), "utf8")).toBe("#!/bin/sh\necho new\n");
  });

  test.each([
    ["no copy of a hook that was written again, as husky does,", "old", []],
    ["the older hook when ours was replaced by another", "new", ["ttyhq-kept"]],
  ])("leave %s in the folder", async (_, word, left) => {
    await using folder = await Folder.make();
    await folder.put("post-commit", "#!/bin/sh\necho old\n");
    await folder.install();
    await folder.put("post-commit", `#!/bin/sh\necho ${word}\n`);
    await folder.remove();
    expect(await readdir(folder.hooks)).toEqual(["post-commit", ...left]);
    expect(await readFile(join(folder.hooks, "post-commit"), "utf8")).toBe(`#!/bin/sh\necho ${word}\n`);
  });

  test("restore the kept hook when ours was deleted", async () => {
    await using folder = await Folder.make();
    await folder.put("post-commit", "#!/bin/sh\necho old\n");
    await folder.install();
    await rm(join(folder.hooks, "post-commit"));
    await folder.remove();
    expect(await readdir(folder.hooks)).toEqual(["post-commit"]);
    expect(await readFile(join(folder.hooks, "post-commit"), "utf8")).toBe("#!/bin/sh\necho old\n");
  });

  test("do not change files of the repository, and report that", async () => {
    await using folder = await Folder.make();
    await folder.put("post-commit", "#!/bin/sh\n");
    const place = { path: folder.hooks, tracked: ["post-commit"] as const, isDenied: false };
    expect(await planHooks(place)).toContainEqual(
      expect.stringMatching(/^git hook post-commit .* left alone$/),
    );
    await installHooks(place, folder.target);
    expect(await readFile(join(folder.hooks, "post-commit"), "utf8")).toBe("#!/bin/sh\n");
  });

  test("are not installed in a folder without write permission, and report that", async () => {
    await using folder = await Folder.make();
    const place = { path: folder.hooks, tracked: [], isDenied: true };
    expect(await planHooks(place)).toContainEqual(
      expect.stringMatching(/^git hook post-commit .* left out$/),
    );
    await installHooks(place, folder.target);
    await expect(stat(folder.hooks)).rejects.toThrow("ENOENT");
  });

  test("start the program detached, without git's descriptors, and do not wait for it", async () => {
    await using folder = await Folder.make();
    const controlDir = join(folder.path, "it's $HOME `here`");
    await mkdir(controlDir);
    await using server = await listening(join(controlDir, "server.sock"));
    const program = join(folder.path, "fake node");
    const lines = [
      `#!/bin/sh`,
      `cat "$0.go" > /dev/null`,
      `printf "%s|" "$@" > ${quoted(`${program}.said`)}.part`,
      `ls -l /proc/self/fd >> ${quoted(`${program}.said`)}.part`,
      `mv ${quoted(`${program}.said`)}.part ${quoted(`${program}.said`)}`,
    ];
    await writeFile(program, lines.join("\n"));
    await chmod(program, 0o755);
    await run("mkfifo", [`${program}.go`]);
    await installHooks(
      { path: folder.hooks, tracked: [], isDenied: false },
      { node: program, main: "/etc/hosts", controlDir },
    );
    // The program is still blocked: a hook that waited for it would not have ended.
    expect(await folder.run("post-commit")).toEqual({ code: 0, stdout: "" });
    await writeFile(`${program}.go`, "");
    const said = await vi.waitFor(() => readFile(`${program}.said`, "utf8"), {
      timeout: 60_000,
      interval: 5,
    });
    expect(said).toMatch(/^\/etc\/hosts\|git\|event\|--event\|commit\|--control-dir\|/);
    expect(said).toContain(`|${controlDir}|`);
    expect(said).not.toMatch(/ \d -> (?:pipe|socket):/);
    expect(server.isUsed()).toBe(false);
  });
});

async function listening(path: string): Promise<AsyncDisposable & { isUsed(): boolean }> {
  let isUsed = false;
  const server = createServer(() => {
    isUsed = true;
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { isUsed: () => isUsed, [Symbol.asyncDispose]: async () => void server.close() };
}
