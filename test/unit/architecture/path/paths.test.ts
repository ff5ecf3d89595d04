import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PAGE = new URL("../../../../docs/architecture.md", import.meta.url);
/** At most so many files of src are on the way of each. */
const MAX_FILES = { byte: 12, key: 12, create: 14 } as const;
const HEADINGS = {
  byte: "The way of a byte",
  key: "The way of a key",
  create: "The way of a new session through an HQ",
} as const;

type Paths = Readonly<Record<keyof typeof MAX_FILES, readonly string[]>>;

async function recorded(): Promise<Paths> {
  const [frames, create] = await Promise.all([record("recorder.ts"), record("create-recorder.ts")]);
  return { ...frames, create };
}

/** What that file prints as JSON. */
async function record(file: string) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path], { timeout: 60_000 });
  return JSON.parse(stdout);
}

/** The files that a section of the page lists: the first word in code of each numbered line. */
function listed(page: string, heading: string): readonly string[] {
  const [, rest = ""] = page.split(`\n## ${heading}\n`);
  const [section = ""] = rest.split("\n## ");
  return [...section.matchAll(/^\d+\. `src\/([^`]+)`/gm)].map(([, file = ""]) => file);
}

test("a byte, a key and a new session pass the files that docs/architecture.md lists, and no others", async () => {
  const [paths, page] = await Promise.all([recorded(), readFile(PAGE, "utf8")]);
  for (const way of ["byte", "key", "create"] as const) {
    const files = listed(page, HEADINGS[way]);
    expect(files.toSorted(), way).toEqual(paths[way].toSorted());
    expect(files.length, way).toBeLessThanOrEqual(MAX_FILES[way]);
  }
});
