import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hookEvent, tellServer } from "../../../src/cli/commands/follow/event.ts";
import { hookScript } from "../../../src/git/hooks/hook-script.ts";
import { HookSocket } from "../../../src/repositories/hook-socket.ts";

test("what a hook starts is understood without the rest of the command line", () => {
  const target = { node: "/n", main: "/m", controlDir: "/c" };
  const script = hookScript("post-merge", target, { kept: undefined, isFolderOurs: false });
  const words = /'\/n' '\/m' (.*) &/.exec(script)?.[1]?.replaceAll("'", "").split(" ") ?? [];
  expect(hookEvent(words)).toEqual({ controlDir: "/c", event: "merge" });
});

test("a hook of another user says its key at a socket", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-event-"));
  const socket = join(directory, "it's a.sock");
  const target = { node: "/n", main: "/m", socket: "/s", key: "k" };
  const script = hookScript("post-commit", target, { kept: undefined, isFolderOurs: false });
  expect(script).toContain("[ -S '/s' ]");
  const words = /'\/n' '\/m' (.*) &/.exec(script)?.[1]?.replaceAll("'", "").split(" ") ?? [];
  expect(hookEvent(words)).toEqual({ event: "commit", socket: "/s", key: "k" });
  await tellServer({ event: "commit", socket, key: "k" }, "/r");
  const keys: string[] = [];
  await using listener = new HookSocket({ path: socket, onKey: (key) => keys.push(key) });
  await listener.open();
  await tellServer({ event: "commit", socket, key: "some key" }, "/r");
  await tellServer({ event: "commit", socket, key: "x".repeat(100_000) }, "/r");
  await tellServer({ event: "commit", socket, key: "" }, "/r");
  expect(keys).toEqual(["some key"]);
  await rm(directory, { recursive: true });
});

test.each([
  [["git", "event", "--event", "commit", "--socket", "/s"]],
  [["git", "event", "--event", "commit", "--control-dir", "/c", "--key", "k"]],
  [["git", "event"]],
  [["git", "event", "--help"]],
  [["git", "event", "--event", "commit", "--url", "http://x"]],
  [["git", "event", "--event", "commit", "--control-dir", "/c", "more"]],
  [["ls"]],
  [[]],
])("%j is left to the command line as a whole", (argv) => {
  expect(hookEvent(argv)).toBeUndefined();
});

test("the server is told where something happened, whatever it answers, and nobody minds if there is none", async () => {
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
