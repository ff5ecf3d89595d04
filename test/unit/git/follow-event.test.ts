import { execFile } from "node:child_process";
import { watch } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { hookEvent, tellServer } from "../../../src/cli/commands/follow/event.ts";
import { EVENT_FILE, hookScript } from "../../../src/git/hooks/hook-script.ts";

test("the command line of a hook is parsed without the other commands", () => {
  const target = { node: "/n", main: "/m", controlDir: "/c" };
  const script = hookScript("post-merge", target, { kept: undefined, isFolderOurs: false });
  const words = /'\/n' '\/m' (.*) &/.exec(script)?.[1]?.replaceAll("'", "").split(" ") ?? [];
  expect(hookEvent(words)).toEqual({ controlDir: "/c", event: "merge" });
});

test("a hook that cannot reach a session host creates and removes a file in the common directory", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-event-"));
  const run = promisify(execFile);
  await run("git", ["init", "--quiet", "it's a repo"], { cwd: directory });
  const gitDir = join(directory, "it's a repo/.git");
  const script = hookScript("post-commit", undefined, { kept: undefined, isFolderOurs: false });
  const seen = Promise.withResolvers<void>();
  const watcher = watch(gitDir, (_, name) => name === EVENT_FILE && seen.resolve());
  try {
    await run("sh", ["-c", script], { cwd: dirname(gitDir) });
    await seen.promise;
    expect(await readdir(gitDir)).not.toContain(EVENT_FILE);
  } finally {
    watcher.close();
    await rm(directory, { recursive: true });
  }
});

test.each([
  [["git", "event", "--event", "commit", "--socket", "/s"]],
  [["git", "event"]],
  [["git", "event", "--help"]],
  [["git", "event", "--event", "commit", "--url", "http://x"]],
  [["git", "event", "--event", "commit", "--control-dir", "/c", "more"]],
  [["ls"]],
  [[]],
])("%j is left to the full command line", (argv) => {
  expect(hookEvent(argv)).toBeUndefined();
});

test("the server gets the path of the repository, and no answer or server is needed", async () => {
  const controlDir = await mkdtemp(join(tmpdir(), "ttyhq-event-"));
  await tellServer({ controlDir, event: "commit" }, "/r");
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    request.on("data", (piece) => bodies.push(`${request.method} ${request.url} ${piece}`));
    request.on("end", () => response.writeHead(500).end("no"));
  });
  await new Promise<void>((resolve) => server.listen(join(controlDir, "server.sock"), resolve));
  await tellServer({ controlDir, event: "commit" }, "/it's a repo");
  expect(bodies).toEqual([`POST /api/git/event {"repoPath":"/it's a repo","event":"commit"}`]);
  server.close();
  await rm(controlDir, { recursive: true });
});
