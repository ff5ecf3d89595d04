// Follows docs/follow-mode.md literally, with a repository at ~/app.
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MAIN, TestServer } from "../harness/test-server.ts";

const run = promisify(execFile);
const page = await readFile(new URL("../../../docs/follow-mode.md", import.meta.url), "utf8");
const PROMPT = "~/app$ ";

type Typed = { readonly command: string; readonly output: string };

/** The commands at the page's prompt, and their output. */
function typed(): readonly Typed[] {
  const region = /## In a minute\n([\s\S]*?)\n## /.exec(page)?.[1] ?? "";
  const blocks = [...region.matchAll(/```\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks.flatMap((block) =>
    block
      .split(PROMPT)
      .slice(1)
      .map((text) => {
        const [line = "", ...output] = text.split("\n");
        return { command: line.replace(/ +#.*/, ""), output: output.join("\n") };
      }),
  );
}

/** A home with a repository, and a shell with ttyhq on its PATH. */
async function home(controlDir: string) {
  const path = await realpath(await mkdtemp(join(tmpdir(), "ttyhq-home-")));
  await run("mkdir", ["-p", join(path, "bin"), join(path, "app")]);
  await writeFile(join(path, "bin/ttyhq"), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(join(path, "bin/ttyhq"), 0o755);
  const env = {
    ...{ HOME: path, PATH: `${join(path, "bin")}:${process.env.PATH}`, TTYHQ_CONTROL_DIR: controlDir },
    ...{ GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" },
  };
  return {
    path,
    type: async (folder: string, command: string): Promise<string> =>
      (await run("sh", ["-c", command], { cwd: join(path, folder), env })).stdout,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** The expected state. */
test("the example does what the page says", async () => {
  await using server = await TestServer.start();
  await using place = await home(server.controlDir);
  const app = (command: string): Promise<string> => place.type("app", command);
  const agent = (command: string): Promise<string> => place.type("app-feature", command);
  const branch = "git branch --show-current";
  // Not only the file: git holds its lock for a moment longer.
  const count = "git --no-optional-locks status --porcelain; cat count";
  await app("git config --global user.name ann; git config --global user.email ann@example.com");
  await app("git init -q -b main && echo 1 > count && git add count && git commit -qm first");
  const hook = join(place.path, "app/.git/hooks/post-commit");
  await writeFile(hook, "#!/bin/sh\n");
  await chmod(hook, 0o755);

  const steps = typed();
  expect(steps.map(({ command }) => command)).toEqual([
    ...[
      "git worktree add ../app-feature -b feature",
      "ttyhq follow --dry-run feature",
      "ttyhq follow feature",
    ],
    ...['git commit -am "Off by one"', "git switch main"],
  ]);
  const [worktree, preview, follow, commit, end] = steps.map(({ command }) => command);
  await app(worktree ?? "");
  expect(await app(preview ?? "")).toContain("nothing was changed");
  expect(await app(branch)).toBe("main\n");
  expect(await app(follow ?? "")).toBe(steps[2]?.output.replaceAll("/home/ann", place.path));

  await agent("echo 3 > count && git commit -qam 'Count to two'");
  await expect.poll(() => app(count)).toBe("3\n");
  await app("echo 2 > count");
  await app(commit ?? "");
  await expect.poll(() => agent(count)).toBe("2\n");
  await agent("git switch -q -c attempt-2");
  await expect.poll(() => app(branch)).toBe("attempt-2\n");
  await app(end ?? "");
  await expect
    .poll(async () => (await readdir(join(hook, ".."))).filter((name) => !name.endsWith(".sample")))
    .toEqual(["post-commit"]);
  expect(await readFile(hook, "utf8")).toBe("#!/bin/sh\n");

  await app("ttyhq follow attempt-2");
  expect(await app("ttyhq unfollow")).toContain("Follow mode disabled");
  expect([await app(branch), await app("cat count")]).toEqual(["", "2\n"]);
  expect(await app("git switch -q main; git status --porcelain")).toBe("");
});
