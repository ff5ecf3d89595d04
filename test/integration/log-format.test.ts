// --log-format json: every line of a service, from its start to any kind of end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { MAIN } from "./harness/test-server.ts";

/** Loaded before the program: simulates a defect of ttyhq or of a library. */
const FAULT = `data:text/javascript,process.once("SIGUSR2", () => {
  process.emitWarning("odd");
  setTimeout(() => { throw new Error("nobody caught this"); });
})`;

test("warnings of Node, an uncaught exception and the announcement are JSON as the log is", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-log-format-"));
  const place = [
    "--bind",
    "127.0.0.1",
    "--port",
    "0",
    "--control-dir",
    folder.path,
    "--session-host",
    "inline",
  ];
  const server = spawn(
    process.execPath,
    ["--import", FAULT, MAIN, "serve", "--no-auth", ...place, "--log-format", "json"],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const log = text(server.stderr);
  const [announced] = await once(createInterface(server.stdout), "line");
  expect(JSON.parse(announced)).toMatchObject({ event: "listening" });
  server.kill("SIGUSR2");
  expect(await once(server, "close")).toEqual([1, null]);
  const lines = (await log)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ level, message }) => [level, message])).toEqual(
    expect.arrayContaining([
      ["info", "server listening"],
      ["warn", "warning of Node"],
      ["error", "uncaught exception"],
    ]),
  );
  expect(JSON.stringify(lines.at(-1))).toContain("nobody caught this");
});

test("the image's entrypoint speaks as the server it starts", async () => {
  const entrypoint = fileURLToPath(new URL("../../docker/entrypoint", import.meta.url));
  const home = '/proc/"no\\where"';
  const said = async (env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> => {
    const shell = spawn("sh", [entrypoint, ...args], { env: { ...process.env, ...env, HOME: home } });
    return await text(shell.stderr);
  };
  const message = expect.stringContaining(`cannot write to ${home}`);
  const line = {
    level: "error",
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    pid: expect.any(Number),
    message,
  };
  expect(JSON.parse(await said({ TTYHQ_LOG_FORMAT: "json" }, "serve"))).toEqual(line);
  expect(JSON.parse(await said({}, "serve", "--log-format", "json"))).toEqual(line);
  expect(await said({ TTYHQ_LOG_FORMAT: "json" }, "serve", "--log-format", "text")).toMatch(/^ttyhq: user/);
  expect(await said({}, "serve")).toMatch(/^ttyhq: user/);
});
