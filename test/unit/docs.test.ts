// What README and docs name is there: files, sections, options, variables, commands, tests.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { createProgram } from "../../src/cli/program.ts";
import { flagOf, type Option, spellingsOf } from "../../src/config/options/option.ts";
import { OPTIONS } from "../../src/config/options/options.ts";
import { Role, TokenScope } from "../../src/protocol/schemas/permission.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "STYLE.md",
  "bench/README.md",
  ...readdirSync(join(ROOT, "docs")).filter(isPage).map(inDocs),
];
/** Pages that speak of other programs' options as well. */
const OF_OTHERS = new Set([
  "CONTRIBUTING.md",
  "docs/decisions.md",
  "docs/operations.md",
  "docs/scale.md",
  "bench/README.md",
]);
/** Read by commands and tests, not by `serve`. */
const OF_COMMANDS = [
  "TTYHQ_TOKEN",
  "TTYHQ_TOKEN_FILE",
  "TTYHQ_URL",
  "TTYHQ_DETACH_KEYS",
  "TTYHQ_SESSION_ID",
  "TTYHQ_IMAGE",
  "TTYHQ_TEST_CLUSTER",
  "TTYHQ_COMMAND",
  "TTYHQ_REPORT_DIR",
  "TTYHQ_TEST_NODE",
  "TTYHQ_TEST_SCALE",
  "TTYHQ_TEST_SEED",
];

function isPage(name: string): boolean {
  return name.endsWith(".md");
}

function inDocs(name: string): string {
  return `docs/${name}`;
}

/** All first groups of a pattern. */
function named(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = ""]) => name);
}

test.each(PAGES)("every link in %s leads somewhere", (page) => {
  const links = named(read(page), /\]\(([^)\s]+)\)/g).filter((link) => !/^https?:/.test(link));
  const dead = links.filter((link) => {
    const [path = "", section] = link.split("#");
    const target = path === "" ? page : relative(ROOT, join(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    return section !== undefined && !sections(read(target)).includes(section);
  });
  expect(dead).toEqual([]);
});

test.each([...PAGES, "CHANGELOG.md"])("no mark of an unfinished merge is in %s", (page) => {
  expect(read(page)).not.toMatch(/^(<{7}|={7}|>{7})/m);
});

/** The addresses of a page's headings, as they are usually made. */
function sections(page: string): string[] {
  return named(page, /^#+ (.+)$/gm).map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test.each(PAGES.filter((page) => !OF_OTHERS.has(page)))(
  "every option and variable in %s exists",
  async (page) => {
    // A line with one of these in it speaks of its options.
    const text = read(page)
      .split("\n")
      .filter((line) => !/docker|kubectl|make-secrets|npm install|systemctl/.test(line))
      .join("\n");
    const options = Object.values<Option>(OPTIONS);
    const flags = new Set([
      ...["--help", "--version"],
      ...options.map(flagOf),
      ...(await commands())
        .flatMap((command) => [command, ...command.commands])
        .flatMap(({ options }) => options.map(({ long }) => long)),
    ]);
    expect(named(text, /(?<![\w-])(--[a-z][a-z-]+)/g).filter((flag) => !flags.has(flag))).toEqual([]);
    const variables = options.flatMap((option) => spellingsOf(option).map(({ variable }) => variable));
    const known = new Set([...variables, ...OF_COMMANDS, "TTYHQ_OPTION_NAME"]);
    expect(named(text, /\b((?:TTYHQ|SERVICE)_[A-Z_]+)/g).filter((name) => !known.has(name))).toEqual([]);
  },
);

test.each([
  ...PAGES,
  "packages/testing/README.md",
  "packages/testing/package.json",
  "k8s/base/kustomization.yaml",
])("versions of ttyhq that %s names are this one", (page) => {
  const versions = named(read(page), /(?:ttyhq(?:-testing)?[-_:]|newTag: |"version": ")(\d+\.\d+\.\d+)/g);
  expect(versions.filter((each) => each !== manifest.version)).toEqual([]);
});

test.each(PAGES)("every command in %s exists", async (page) => {
  const names = (await commands()).flatMap((command) => [command.name(), ...command.aliases()]);
  const used = named(read(page), /(?:`|npx |\()ttyhq ([a-z][a-z-]+)/g);
  expect(used.filter((name) => !names.includes(name))).toEqual([]);
});

test.each(PAGES)("every file that %s names exists", (page) => {
  const files = named(read(page), /`((?:src|test|docs|bench|scripts|native|\.ci)\/[\w./-]+)`/g);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test.each(["what-happens-when", "security"])(
  "every test that docs/%s.md names is there, under that name",
  (name) => {
    const page = read(`docs/${name}.md`);
    const tests = [...page.matchAll(/`(test\/[\w./-]+)`: "([^"]+)"/g)];
    expect(tests.length).toBeGreaterThan(15);
    const missing = tests.filter(([, file = "", title = ""]) => !read(file).includes(`"${title}"`));
    expect(missing.map(([all]) => all)).toEqual([]);
  },
);

test("every row of the threats in docs/security.md names a test, which a paragraph below names as well", () => {
  const [, table = "", below = ""] =
    /## Threats\n([\s\S]*?)\n###([\s\S]*)/.exec(read("docs/security.md")) ?? [];
  const rows = table
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(1);
  expect(rows.length).toBeGreaterThan(30);
  const unproven = rows.filter((row) => {
    const [, file = ""] = /`(test\/[\w./-]+)` \|$/.exec(row) ?? [];
    return file === "" || !below.includes(`\`${file}\``);
  });
  expect(unproven).toEqual([]);
});

test("docs/logging-in.md names every role, and every scope of API tokens", () => {
  const words = [
    ...named(read("docs/logging-in.md"), /^\| (\w+) \|/gm),
    ...named(read("docs/logging-in.md"), /`([\w:]+)`/g),
  ];
  expect([...Role.options, ...TokenScope.options].filter((word) => !words.includes(word))).toEqual([]);
});

test("docs/operations.md names every file of the control directory", () => {
  const [, table = ""] = /## The control directory\n([\s\S]*?)\n## /.exec(read("docs/operations.md")) ?? [];
  const files = named(read("src/sessions/storage/control-dir.ts"), /(?:at\(|join\(controlDir, )"([^"]+)"\)/g);
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((file) => !table.includes(`\`${file}`))).toEqual([]);
});

test("every row of the README's table has its paragraph, and its tests in the appendix", () => {
  const [, table = ""] = /## What happens to my session if …\n([\s\S]*?)\n\[/.exec(read("README.md")) ?? [];
  const rows = named(table, /^\| ([a-z].*?) \|/gm).map((row) => row.replace(/^the |^a /, "").toLowerCase());
  const page = read("docs/what-happens-when.md").toLowerCase();
  const [answers = "", appendix = ""] = page.split("## appendix: the tests");
  expect(rows).toHaveLength(12);
  for (const titles of [named(answers, /^\*\*(.+?)\*\*/gm), named(appendix, /^\*\*(.+?)\*\*\n\n- `test\//gm)])
    expect(rows.filter((row) => !titles.some((title) => title.includes(row)))).toEqual([]);
});

async function commands() {
  const unwanted = (): never => {
    throw new Error("nothing is to be started");
  };
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const place = {
    argv: [],
    env: {},
    cwd: "/",
    home: "/",
    user: "me",
    hostname: "box",
    version: "0",
    stdin,
    stdout,
    stderr,
  };
  const parts = {
    startServer: unwanted,
    startSessionHost: unwanted,
    ensureHost: unwanted,
    reportFaults: unwanted,
  };
  return (await createProgram({ ...place, ...parts, program: { node: "", main: "" } }, unwanted)).commands;
}
