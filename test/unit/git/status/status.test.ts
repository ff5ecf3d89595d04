import { expect, test } from "vitest";
import { parseStatus } from "../../../../src/git/status/status.ts";

const OID = "1".repeat(40);
const lines = (...all: readonly string[]): string => all.map((line) => `${line}\0`).join("");
const change = (xy: string, path: string): string =>
  `1 ${xy} N... 100644 100644 100644 ${OID} ${OID} ${path}`;

test("files are counted by their kinds of change", () => {
  const text = lines(
    ...[`# branch.oid ${OID}`, "# branch.head a b", "# branch.upstream origin/a", "# branch.ab +12 -3"],
    ...[change("M.", "s"), change(".M", "m"), change("MM", "sm"), change("A.", "a"), change(".D", "d")],
    `2 R. N... 100644 100644 100644 ${OID} ${OID} R100 new`,
    // The former path of the rename, which looks like another line.
    "? not a file",
    ...[`u UU N... 100644 100644 100644 100644 ${OID} ${OID} ${OID} u`, "? x\ny", "? z", "! ignored"],
  );
  expect(parseStatus(text)).toEqual({
    ...{ branch: "a b", upstream: "origin/a", ahead: 12, behind: 3, hasChanges: true },
    counts: { modifiedCount: 3, untrackedCount: 2, stagedCount: 4, addedCount: 1, deletedCount: 1 },
  });
});

test("a clean tree without commit, branch or upstream reports none", () => {
  const initial = parseStatus(lines("# branch.oid (initial)", "# branch.head main"));
  expect(initial).toMatchObject({ branch: "main", upstream: undefined, hasChanges: false });
  const detached = parseStatus(lines(`# branch.oid ${OID}`, "# branch.head (detached)"));
  expect(detached).toMatchObject({ branch: undefined, ahead: undefined, behind: undefined });
});

test("a missing upstream has no counts", () => {
  const gone = parseStatus(lines(`# branch.oid ${OID}`, "# branch.head a", "# branch.upstream origin/a"));
  expect(gone).toMatchObject({ upstream: "origin/a", ahead: undefined, behind: undefined });
});

test("empty output is a clean tree without a branch", () => {
  expect(parseStatus("")).toMatchObject({ branch: undefined, hasChanges: false });
});
