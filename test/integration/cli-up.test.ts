// A cluster of plain processes, as `ttyhq up` runs it.

import { once } from "node:events";
import { mkdir, mkdtemp, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { createClient } from "../../src/protocol/client/client.ts";
import { endpoints } from "../../src/protocol/endpoints/endpoints.ts";
import { createSender } from "../../src/remote/send.ts";
import { bestTime } from "./harness/best-time.ts";
import { Installation } from "./harness/installation.ts";
import { Tmux } from "./harness/tmux.ts";
import { clientOf, type Up, UpCommand } from "./harness/up-command.ts";

const WIDE = { cols: 160, rows: 40 };

/** Like a script. */
function basicClient({ url, username, password }: Up) {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return createClient(createSender({ url, headers: { authorization } }).send);
}

/** An endless program of the first remote, with the directory in its command line. */
async function program(up: Up, script: string) {
  const [remote] = up.remotes;
  if (remote === undefined) throw new Error("no remote");
  const command = ["sh", "-c", `: ${remote.controlDir}; ${script}`];
  return { remote, session: await clientOf(remote).create({ command }) };
}

describe("ttyhq up", () => {
  test("is one line for a script, within 10 s, when all remotes are there", async () => {
    const start = async (): Promise<number> => {
      const before = performance.now();
      await using command = await UpCommand.begin(["--remotes", "3"]);
      const up = await command.up();
      const tookMs = performance.now() - before;
      const client = basicClient(up);
      const records = await client.call(endpoints.listRemotes);
      const shown = records.map(({ name, url }) => ({ name, url }));
      expect(shown).toHaveLength(3);
      expect(shown).toEqual(expect.arrayContaining(up.remotes.map(({ name, url }) => ({ name, url }))));
      expect(await client.health()).toMatchObject({ mode: "hq", remotes: 3 });
      return tookMs;
    };
    expect(await bestTime(10_000, start)).toBeLessThan(10_000);
  });

  test("gives a script what it needs to run programs on a remote, and shows no secret to other users", async () => {
    await using command = await UpCommand.begin(["--remotes", "1"]);
    const up = await command.up();
    const client = basicClient(up);
    const [record] = await client.call(endpoints.listRemotes);
    const { id } = await client.create({ command: ["cat"], remoteId: record?.id ?? "" });
    await client.input(id, { text: "hello\r" });
    await eventually(
      async () => ((await client.screen(id)).startsWith("hello\nhello") ? true : undefined),
      "the echo",
    );
    const ticket = new URL(up.loginLink).hash.slice("#login=".length);
    const { token } = await client.call(endpoints.createToken, { body: { ticket } });
    expect(token).not.toBe("");
    // git may also read the session's folder for a moment.
    const isAlone = async () => (command.processes().length === 3 ? true : undefined);
    await eventually(isAlone, "the HQ, the remote and its session host");
    expect(command.processes().join("\n")).not.toContain(up.password);
  });

  test("ends everything at SIGTERM, the programs included, and the remotes leave before the HQ goes", async () => {
    await using command = await UpCommand.begin(["--remotes", "2"]);
    const up = await command.up();
    await program(up, "sleep 1000");
    expect(await command.stop("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(command.processes()).toEqual([]);
    const log = await readFile(join(up.controlDir, "server.log"), "utf8");
    expect(log.match(/remote left/g)).toHaveLength(2);
  });

  test("ends everything at a Ctrl-C while it starts", async () => {
    await using command = await UpCommand.begin(["--remotes", "3"]);
    await eventually(async () => (command.processes().length > 0 ? true : undefined), "the first process");
    expect(await command.stop("SIGINT")).toEqual({ code: 0, signal: null });
    expect(command.processes()).toEqual([]);
  });

  test("at a second signal ends at once, and everything else ends by itself", async () => {
    await using command = await UpCommand.begin(["--remotes", "1"]);
    await program(await command.up(), "trap '' HUP TERM; while :; do sleep 1; done");
    command.signal("SIGINT");
    await command.says(/^ttyhq: stopping everything/m);
    expect(await command.stop("SIGINT")).toEqual({ code: 130, signal: null });
    await eventually(
      async () => (command.processes().length === 0 ? true : undefined),
      "the end of the rest",
    );
  });

  test("killed leaves no server behind, and its programs to the next one", async () => {
    await using command = await UpCommand.begin(["--remotes", "1"]);
    const { session } = await program(await command.up(), "sleep 1000");
    expect(await command.stop("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
    const servers = (): readonly string[] => command.processes().filter((line) => line.includes(" serve "));
    await eventually(async () => (servers().length === 0 ? true : undefined), "the end of the servers");
    await using next = await UpCommand.begin(["--remotes", "1"], command.directory);
    const client = basicClient(await next.up());
    await eventually(
      async () => (await client.list()).find(({ id, status }) => id === session.id && status === "running"),
      "the session",
    );
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    expect(command.processes()).toEqual([]);
  });
});

describe("a machine of the cluster", () => {
  test("that is killed is started again at its address, and keeps its programs", async () => {
    await using command = await UpCommand.begin(["--remotes", "2"]);
    const up = await command.up();
    const { remote, session } = await program(up, "sleep 1000");
    const { pid } = await clientOf(remote).health();
    process.kill(pid, "SIGKILL");
    await command.says(
      /^ttyhq: remote-1 ended \(SIGKILL\), starting it again\nttyhq: remote-1 serves again$/m,
    );
    const client = basicClient(up);
    await eventually(
      async () => (await client.list()).find(({ id, status }) => id === session.id && status === "running"),
      "the session in the HQ",
    );
    const records = await client.call(endpoints.listRemotes);
    expect(records.find(({ name }) => name === "remote-1")?.url).toBe(remote.url);
    expect(await command.stop()).toEqual({ code: 0, signal: null });
    expect(command.processes()).toEqual([]);
  });

  test("may be the HQ: its remotes are in it again", async () => {
    await using command = await UpCommand.begin(["--remotes", "2"]);
    const up = await command.up();
    process.kill((await clientOf(up).health()).pid, "SIGKILL");
    await command.says(/^ttyhq: hq serves again$/m);
    const client = basicClient(up);
    await eventually(
      async () => ((await client.call(endpoints.listRemotes)).length === 2 ? true : undefined),
      "both remotes",
    );
  });

  test("that does not start is named with the end of its log, and nothing is left running", async () => {
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-up-"));
    // No session host can write its log there.
    await mkdir(join(directory, "c", "remote-2", "host.log"), { recursive: true });
    await using command = await UpCommand.begin(["--remotes", "3"], directory);
    expect(await command.exit).toEqual({ code: 1, signal: null });
    expect(command.errors).toMatch(
      /^ttyhq: remote-2 did not start \(exit code 1\): see \S+server\.log\n {2}/,
    );
    expect(command.errors).toContain("EISDIR");
    expect(command.processes()).toEqual([]);
  });
});

describe("there is no second cluster", () => {
  test("on a port that is taken", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await using _holder = holder;
    await once(holder, "listening");
    const address = holder.address();
    const port = typeof address === "object" ? `${address?.port}` : "";
    await using command = await UpCommand.begin(["--port", port]);
    expect(await command.exit).toEqual({ code: 1, signal: null });
    expect(command.errors).toContain(`  ttyhq: port ${port} of 127.0.0.1 is taken: stop what listens there`);
    expect(command.processes()).toEqual([]);
  });

  test("in a control directory that has one, which goes on", async () => {
    await using command = await UpCommand.begin(["--remotes", "1"]);
    const up = await command.up();
    const second = await new Installation(command.directory).ttyhq([
      "up",
      "--control-dir",
      join(command.directory, "c"),
    ]);
    expect(second).toEqual({
      ...{ exitCode: 1, stdout: "" },
      stderr: `ttyhq: a cluster runs in ${join(command.directory, "c")} already: stop it, or give another --control-dir\n`,
    });
    expect(await basicClient(up).health()).toMatchObject({ mode: "hq", remotes: 1 });
  });
});

test("in a terminal a cluster is a link and a table, until Ctrl-C", async () => {
  await using installation = await Installation.make();
  await using terminal = await Tmux.open(WIDE, installation.env);
  await terminal.enter('$TTYHQ up --remotes 2 --port 0; echo "code $?"');
  const screen = await terminal.shows("Ctrl-C ends all of it, the programs in its sessions included");
  expect(screen).toMatch(/^an HQ and 2 remotes, up in \d+\.\d s$/m);
  expect(screen).toMatch(
    /^log in with this link, once and within 10 minutes: http:\/\/127\.0\.0\.1:\d+\/#login=/m,
  );
  expect(screen).toMatch(
    /^MACHINE {3}ADDRESS +CONTROL DIRECTORY\nhq +http.+\nremote-1 +http.+\nremote-2 +http/m,
  );
  await terminal.press("C-c");
  await terminal.shows(/^code 0$/m);
});
