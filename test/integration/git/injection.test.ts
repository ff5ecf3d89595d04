import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { branchNameProblem } from "../../../src/git/worktrees/branches.ts";
import { Worktrees } from "../../../src/git/worktrees/worktrees.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { GitRoom } from "../harness/git-repository.ts";

let room: GitRoom;
let repository: string;
let worktrees: Worktrees;

beforeAll(async () => {
  room = await GitRoom.make();
  repository = await room.repository();
  const nothing = async (): Promise<void> => {};
  const parts = { follow: { enable: nothing, changed: nothing }, now: () => performance.now() };
  worktrees = new Worktrees({ program: room.program, ...parts });
});
afterAll(() => room?.[Symbol.asyncDispose]());

/** The allowed answers about a name. */
const CODES: ReadonlySet<string> = new Set([
  ...["invalid_branch_name", "branch_not_found", "branch_exists", "branch_checked_out", "worktree_not_found"],
  ...["worktree_path_exists", "main_worktree", "invalid_request"],
]);

/** The code of the refusal; `undefined` if it succeeded. Anything but a named refusal is a failure. */
async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError && CODES.has(error.code)) return error.code;
    throw error;
  }
}

const options = (caught: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    ...[
      "-",
      "--",
      "-b",
      "-B",
      "-f",
      "--force",
      "--detach",
      "--orphan",
      "--help",
      "--version",
      "-h",
      "-d",
      "-D",
    ],
    ...["--end-of-options", "--stdin", "--all", "-C/", "--git-dir=/", "--no-checkout", "--lock", "--track"],
    ...[
      `--exec=touch ${caught}`,
      `--upload-pack=touch ${caught}`,
      `--output=${caught}`,
      `-c core.pager=touch ${caught}`,
    ],
    ...[
      `$(touch ${caught})`,
      `\`touch ${caught}\``,
      `;touch ${caught};`,
      `|touch ${caught}`,
      `\ntouch ${caught}\n`,
    ],
    ...[
      `ext::sh -c touch% ${caught}`,
      `'; touch ${caught}; '`,
      `"; touch ${caught}; "`,
      "HEAD",
      "@",
      "@{-1}",
      "HEAD~1",
    ],
    ...[
      "main",
      "^main",
      "main..side",
      ":/first",
      "refs/heads/--force",
      "refs/heads/main",
      "main:a.txt",
      "*",
      "ma?n",
    ],
  );

describe("what a client sends as a branch", () => {
  test("never is an option, a range, a pattern or a command", async () => {
    const caught = room.at("caught");
    const texts = fc.array(
      fc.oneof({ weight: 5, arbitrary: options(caught) }, fc.string({ unit: "binary", maxLength: 8 })),
      {
        minLength: 1,
        maxLength: 2,
      },
    );
    const before = await room.git(repository, "for-each-ref");
    await fc.assert(
      fc.asyncProperty(texts, async (words) => {
        const name = words.join("").replaceAll("\0", "");
        const short = name.replace(/^refs\/heads\//, "");
        const added = await codeOf(worktrees.add(repository, { branch: name }, {}));
        const isRefused = branchNameProblem(short) !== undefined;
        if (isRefused) expect(added).toBe("invalid_branch_name");
        if (added === undefined) {
          await worktrees.remove(repository, { branch: short, isForced: true }, {});
          await room.git(repository, "update-ref", "-d", `refs/heads/${short}`);
        }
        const based = await codeOf(worktrees.add(repository, { branch: "new", baseBranch: name }, {}));
        if (isRefused) expect(based).toBe("invalid_branch_name");
        if (based === undefined) {
          await worktrees.remove(repository, { branch: "new", isForced: true }, {});
          await room.git(repository, "branch", "-D", "new");
        }
        expect(await codeOf(worktrees.remove(repository, { branch: name, isForced: true }, {}))).toBe(
          short === "main" ? "main_worktree" : "worktree_not_found",
        );
        const switched = await codeOf(worktrees.switchTo(repository, name, {}));
        expect(switched).toBe(
          short === "main" ? undefined : isRefused ? "invalid_branch_name" : "branch_not_found",
        );
        expect(existsSync(caught)).toBe(false);
      }),
      { numRuns: 60, endOnFailure: true },
    );
    expect(await room.git(repository, "for-each-ref")).toBe(before);
    expect(await room.git(repository, "branch", "--show-current")).toBe("main");
  });
});

describe("what a client sends as a path", () => {
  test("never is an option or a command, for the repository and for the worktree", async () => {
    const caught = room.at("caught");
    const names = options(caught).map((text) => text.replaceAll("/", "_"));
    await fc.assert(
      fc.asyncProperty(names, async (name) => {
        const folder = room.at("odd", name);
        await mkdir(folder, { recursive: true });
        const asked = codeOf(worktrees.list(folder));
        await expect(asked).rejects.toMatchObject({ code: "not_a_repository" });
        const path = join(folder, name);
        // The one name that git itself cannot handle.
        if (name === "@") {
          expect(await codeOf(worktrees.add(repository, { branch: "odd", path }, {}))).toBe(
            "invalid_request",
          );
          return;
        }
        expect(await worktrees.add(repository, { branch: "odd", path }, {})).toEqual({ path, branch: "odd" });
        const { worktrees: listed } = await worktrees.list(path);
        expect(listed.map((tree) => tree.path)).toEqual([repository, path]);
        expect(await worktrees.remove(path, { branch: "odd", isForced: false }, {})).toBe(path);
        await room.git(repository, "branch", "-D", "odd");
        expect(await readdir(folder)).toEqual([]);
        expect(existsSync(caught)).toBe(false);
      }),
      { numRuns: 30, endOnFailure: true },
    );
  });

  test("must be absolute, and hold no NUL", () => {
    for (const path of ["repo", "", "--force", "/a\0b"]) {
      expect(() => room.program.at(path)).toThrow(ServiceError);
    }
  });
});

describe("a worktree to remove", () => {
  test.each([
    ["one branch is forced into", ["--force"], "twice"],
    ["the full name of one branch is the name of the other", ["-b"], "refs/heads/twice"],
  ])("is not guessed where two match: %s", async (_, how, other) => {
    const place = await room.repository(`${how}`);
    const trees = [join(room.path, `${how}-1`), join(room.path, `${how}-2`)] as const;
    await room.git(place, "branch", "twice");
    await room.git(
      place,
      "worktree",
      "add",
      "--quiet",
      trees[0],
      ...(how[0] === "-b" ? [...how, other] : [other]),
    );
    await room.git(place, "worktree", "add", "--quiet", "--force", trees[1], "twice");
    for (const tree of trees) await room.write(join(tree, "new.txt"), "new\n");
    const removal = { branch: "refs/heads/twice", isForced: true };
    expect(await codeOf(worktrees.remove(place, removal, {}))).toBe("invalid_request");
    expect(trees.map((tree) => existsSync(join(tree, "new.txt")))).toEqual([true, true]);
  });
});
