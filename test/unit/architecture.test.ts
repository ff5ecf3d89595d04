// Holds the layout of the design (its table is architecture/table.ts) and proves that each rule bites.
import { glob, readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { RULES } from "./architecture/rules.ts";
import { parseSource, type Source } from "./architecture/source.ts";
import { terminology } from "./architecture/terminology.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

async function parsed(pattern: string | string[]): Promise<readonly Source[]> {
  const paths = (await Array.fromAsync(glob(pattern, { cwd: ROOT }))).sort();
  return await Promise.all(
    paths.map(async (path) => parseSource(path, await readFile(`${ROOT}${path}`, "utf8"))),
  );
}

/** How many files each folder of src has in itself. */
async function countFiles(): Promise<ReadonlyMap<string, number>> {
  const entries = await readdir(`${ROOT}src`, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  // git leaves folders behind that have no file any more.
  const used = folders.filter((folder) =>
    files.some(({ parentPath }) => `${parentPath}/`.startsWith(`${folder}/`)),
  );
  const paths = ["src", ...used.map((folder) => relative(ROOT, folder))];
  const filesIn = (path: string): number =>
    files.filter(({ parentPath }) => relative(ROOT, parentPath) === path).length;
  return new Map(paths.map((path) => [path, filesIn(path)]));
}

/** The paths of the tree that a page draws as `tree -d` does. */
function foldersOf(page: string): readonly string[] {
  const [, drawing = ""] = /```\n(src .*?)```/s.exec(page) ?? [];
  const trail: string[] = [];
  const paths = drawing.split("\n").flatMap((line) => {
    const [, indent = "", name] = /^((?:[│ ] {3})*(?:[├└]── )?)([\w-]+)/.exec(line) ?? [];
    if (name === undefined) return [];
    trail.splice(indent.length / 4, trail.length, name);
    return [trail.join("/")];
  });
  return paths.sort();
}

const FILES_OF = await countFiles();
const tree = await parsed(["src/**/*.{ts,tsx}", "packages/*/src/**/*.ts"]);

for (const [sentence, rule] of Object.entries(RULES)) {
  test(sentence, () => {
    expect(tree.length).toBeGreaterThan(0);
    expect(rule(tree)).toEqual([]);
  });
}

test("identifiers and file names are the field's words", async () => {
  const others = await parsed("{bench,scripts,test}/**/*.{ts,tsx}");
  expect(terminology([...tree, ...others])).toEqual([]);
});

test("docs/architecture.md lists the folders of src", async () => {
  const page = await readFile(`${ROOT}docs/architecture.md`, "utf8");
  expect(foldersOf(page)).toEqual([...FILES_OF.keys()].sort());
});

test("no folder of src has more than 16 files", () => {
  expect([...FILES_OF].filter(([, files]) => files > 16)).toEqual([]);
});

/** Made-up files that stand in a project alone, by path, and what must be said of them. */
type Example = {
  readonly about: string;
  readonly files: Readonly<Record<string, string>>;
  readonly said: readonly string[];
};

const FORBIDDEN: readonly Example[] = [
  {
    about: "an import up the table",
    files: { "src/git/follow.ts": `\nimport { route } from "../http/router.ts";` },
    said: ["src/git/follow.ts:2 imports src/http/router.ts: git may import only ground, lib, protocol"],
  },
  {
    about: "a sideways import of a type",
    files: { "src/auth/chain.ts": `import type { Session } from "../sessions/session.ts";` },
    said: ["src/auth/chain.ts:1 imports src/sessions/session.ts: auth may import only ground, lib, protocol"],
  },
  {
    about: "an import of sessions beyond their interface",
    files: {
      "src/hub/feed.ts": `export type { Journal } from "../sessions/journal.ts";\nimport "../sessions/backend.ts";`,
    },
    said: [
      "src/hub/feed.ts:1 imports src/sessions/journal.ts: hub may import only ground, lib, protocol, backend",
    ],
  },
  {
    about: "the page when it reaches for the server's code",
    files: { "src/web/list.tsx": `import { Emitter } from "../lib/emitter.ts";` },
    said: ["src/web/list.tsx:1 imports src/lib/emitter.ts: web may import only ground, protocol"],
  },
  {
    about: "a log that is imported and not handed in",
    files: { "src/hub/hub.ts": `import type { Log } from "../log.ts";\nimport { log } from "../log.ts";` },
    said: ["src/hub/hub.ts:2 imports src/log.ts: hub may import only types of log"],
  },
  {
    about: "an import inside an expression or a type",
    files: {
      "src/lib/ring.ts": `export const late = () => import("../hub/hub.ts");\ntype Late = import("../hub/hub.ts").Hub;`,
    },
    said: [
      "src/lib/ring.ts:1 imports src/hub/hub.ts: lib may import only ground",
      "src/lib/ring.ts:2 imports src/hub/hub.ts: lib may import only ground",
    ],
  },
  {
    about: "a thread of another layer, under either of its names",
    files: {
      "src/lib/pool.ts": `const built = true;
new Worker(new URL("../sessions/screen-worker.ts", import.meta.url));
new Worker(new URL(built ? "../hub/hub.js" : "./ring.ts", import.meta.url));`,
    },
    said: [
      "src/lib/pool.ts:2 imports src/sessions/screen-worker.ts: lib may import only ground",
      "src/lib/pool.ts:3 imports src/hub/hub.ts: lib may import only ground",
    ],
  },
  {
    about: "a file outside the table",
    files: { "src/extras/thing.ts": "" },
    said: ["src/extras/thing.ts has no place in the table of layers"],
  },
  {
    about: "a package in another file",
    files: { "src/hub/viewer.ts": `import type { WebSocket } from "ws";` },
    said: ["src/hub/viewer.ts:1 imports ws: only src/http/upgrade.ts and src/remote/uplink.ts may"],
  },
  {
    about: "a package by a path inside it",
    files: { "src/sessions/launch.ts": `import { Terminal } from "@xterm/headless/lib/terminal.js";` },
    said: [
      "src/sessions/launch.ts:1 imports @xterm/headless: only src/sessions/screen/terminal/terminal.ts may",
    ],
  },
  {
    about: "a scoped package by require",
    files: { "src/sessions/journal.ts": `createRequire(import.meta.url);\nrequire("@xterm/headless");` },
    said: [
      "src/sessions/journal.ts:2 imports @xterm/headless: only src/sessions/screen/terminal/terminal.ts may",
    ],
  },
  {
    about: "the native module in another file",
    files: { "src/sessions/journal.ts": `require("../../build/Release/ttyhq.node");` },
    said: [
      "src/sessions/journal.ts:1 imports ttyhq.node: only src/sessions/journal/recording.ts and src/sessions/pty/pty.ts and src/sessions/pty/process-table.ts and src/remote/exact-socket.ts and src/audit/ship/syslog-receiver.ts may",
    ],
  },
  {
    about: "a package that the table does not know",
    files: { "src/lib/ring.ts": `import { chunk } from "lodash";` },
    said: ["src/lib/ring.ts:1 imports lodash: the table of packages does not have it"],
  },
  {
    about: "a cycle, even of types",
    files: {
      "src/hub/a.ts": `import { b } from "./b.ts";`,
      "src/hub/b.ts": `import type { C } from "./c.ts";`,
      "src/hub/c.ts": `import "./a.ts";`,
      "src/hub/d.ts": `import "./a.ts";`,
    },
    said: ["src/hub/a.ts imports src/hub/b.ts imports src/hub/c.ts imports src/hub/a.ts: a cycle"],
  },
  {
    about: "a module of Node where a browser runs",
    files: {
      "src/protocol/frame.ts": `import { Ring } from "../lib/ring.ts";\nimport fs from "fs";`,
      "src/lib/ring.ts": `import { inspect } from "node:util";`,
    },
    said: [
      "src/protocol/frame.ts:2 imports fs: protocol runs in a browser",
      "src/lib/ring.ts:1 imports node:util: it runs in a browser, because src/protocol/frame.ts imports it",
    ],
  },
  {
    about: "a global of Node where a browser runs",
    files: {
      "src/protocol/frame.ts": `export const empty = Buffer.alloc(0);\ntype Timer = NodeJS.Timeout;
export const fine = { process: 1, global: window.process };`,
    },
    said: [
      "src/protocol/frame.ts:1 uses Buffer: protocol runs in a browser",
      "src/protocol/frame.ts:2 uses NodeJS: protocol runs in a browser",
    ],
  },
  {
    about: "relative imports without their extension",
    files: { "src/hub/hub.ts": `import "./feed";\nimport "./outbox.js";\nexport { x } from "./viewer";` },
    said: [
      "src/hub/hub.ts:1 imports ./feed: relative imports end in .ts or .tsx",
      "src/hub/hub.ts:2 imports ./outbox.js: relative imports end in .ts or .tsx",
      "src/hub/hub.ts:3 imports ./viewer: relative imports end in .ts or .tsx",
    ],
  },
  {
    about: "tests and the package file in src",
    files: {
      "src/app.ts": `import "../test/unit/server.ts";\nimport about from "../package.json" with { type: "json" };`,
    },
    said: [
      "src/app.ts:1 imports test/unit/server.ts: it is not in src",
      "src/app.ts:2 imports package.json: it is not in src",
    ],
  },
  {
    about: "an import that is computed",
    files: { "src/auth/chain.ts": `const name = "pam";\nawait import("./" + name + ".ts");` },
    said: ["src/auth/chain.ts:2 imports something computed: nobody can check it"],
  },
  {
    about: "barrels and default exports",
    files: {
      "src/hub/index.ts": `export * from "./hub.ts";`,
      "src/hub/hub.ts": `export default class Hub {}`,
      "src/hub/feed.ts": `const feed = 1;\nexport { feed as default };`,
    },
    said: [
      "src/hub/index.ts:1 exports *: no barrels",
      "src/hub/index.ts is an index: no barrels",
      "src/hub/hub.ts:1 exports default: no default exports",
      "src/hub/feed.ts:2 exports default: no default exports",
    ],
  },
  {
    about: "the environment and the arguments, however they are spelt",
    files: {
      "src/main.ts": "process.env.HOME;",
      "src/git/git.ts": `process.env.HOME;\nprocess["argv"];\nglobalThis.process.env;\nconst { env } = process;
import { argv } from "node:process";\nconst env2 = { process: { env: 1 } };`,
    },
    said: [
      "src/git/git.ts:1 reads process.env: only src/main.ts may",
      "src/git/git.ts:2 reads process.argv: only src/main.ts may",
      "src/git/git.ts:3 reads process.env: only src/main.ts may",
      "src/git/git.ts:4 reads process.env: only src/main.ts may",
      "src/git/git.ts:5 reads process.argv: only src/main.ts may",
    ],
  },
  {
    about: "names that name nothing",
    files: { "src/lib/stringUtils.ts": "", "src/hub/session-manager.ts": "", "src/protocol/types.ts": "" },
    said: [
      "src/lib/stringUtils.ts is not named in kebab-case",
      `src/hub/session-manager.ts has "manager" in its name: name the thing`,
      `src/protocol/types.ts has "types" in its name: name the thing`,
    ],
  },
];

test("reports names that the table of terms rejects", () => {
  const files = {
    "src/lib/user-turns.ts":
      "export class Farewell { #turnsOf() {} }\nconst { figures, shown: picture, ...facts } = read();",
    "src/hq/fleet-silence.ts": "",
    "src/lib/returns.ts":
      "function take([past]: number[], look = 1): void {}\nconst lookUp = path.join(returnsNothing, joinToken);",
  };
  const sources = Object.entries(files).map(([path, text]) => parseSource(path, text));
  expect(terminology(sources).map((line) => line.replace(/: use .*/, ""))).toEqual([
    "src/lib/user-turns.ts:1 names user-turns",
    "src/lib/user-turns.ts:1 names Farewell",
    "src/lib/user-turns.ts:1 names turnsOf",
    "src/lib/user-turns.ts:2 names facts",
    "src/hq/fleet-silence.ts:1 names fleet-silence",
    "src/lib/returns.ts:1 names returns",
    "src/lib/returns.ts:1 names past",
    "src/lib/returns.ts:1 names look",
  ]);
});

for (const { about, files, said } of FORBIDDEN) {
  test(`reports ${about}`, () => {
    expect(findings(files).sort()).toEqual([...said].sort());
  });
}

test("a project in order has nothing to report", () => {
  const files = {
    "src/main.ts": `import { serve } from "./cli/serve.ts";\nserve(process.argv, process.env);`,
    "src/cli/serve.ts": `import { Command } from "commander";\nimport { start } from "../app.ts";`,
    "src/app.ts": `import { Hub } from "./hub/hub.ts";\nimport { log } from "./log.ts";`,
    "src/log.ts": `import { pino } from "pino";`,
    "src/hub/hub.ts": `import type { Log } from "../log.ts";\nimport { z } from "zod";\nimport { Feed } from "./feed.ts";`,
    "src/hub/feed.ts": `import type { SessionBackend } from "../sessions/backend.ts";\nexport const bytes = Buffer.alloc(1);`,
    "src/sessions/backend.ts": `import { size } from "../protocol/size.ts";`,
    "src/sessions/screen.ts": `new Worker(new URL("./screen-worker.ts", import.meta.url));`,
    "src/sessions/screen/terminal/terminal.ts": `import { Terminal } from "@xterm/headless";\nimport type { Ask } from "../../screen.ts";`,
    "src/protocol/size.ts": `import { MAX_COLS } from "./limits.ts";`,
    "src/protocol/limits.ts": "export const MAX_COLS = 1000;",
    "src/lib/ring.ts": `import { MAX_COLS } from "../protocol/limits.ts";`,
    "src/web/page.tsx": `import "./page.css";\nimport { size } from "../protocol/size.ts";\nexport const Page = () => <p>hello</p>;`,
  };
  expect(findings(files)).toEqual([]);
});

function findings(files: Readonly<Record<string, string>>): string[] {
  const sources = Object.entries(files).map(([path, text]) => parseSource(path, text));
  return Object.values(RULES).flatMap((rule) => rule(sources));
}
