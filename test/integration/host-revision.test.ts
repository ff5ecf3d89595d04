// A server meets a session host with another revision of the protocol: it refuses clearly and leaves it alone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { PROTOCOL_REVISION } from "../../src/protocol/frame/frame.ts";
import { MAIN, TestServer } from "./harness/test-server.ts";

const CHECKOUT = dirname(dirname(MAIN));
const REVISION = /PROTOCOL_REVISION = (\d+)/;

/** A simulated later version: the sources with the next revision of the protocol. */
async function nextVersion(directory: string): Promise<string> {
  await cp(join(CHECKOUT, "src"), join(directory, "src"), { recursive: true });
  await cp(join(CHECKOUT, "package.json"), join(directory, "package.json"));
  for (const name of ["node_modules", "build"]) await symlink(join(CHECKOUT, name), join(directory, name));
  const frame = join(directory, "src/protocol/frame/frame.ts");
  const code = await readFile(frame, "utf8");
  expect(code).toMatch(REVISION);
  await writeFile(
    frame,
    code.replace(REVISION, (_, revision) => `PROTOCOL_REVISION = ${Number(revision) + 1}`),
  );
  return join(directory, "src/main.ts");
}

test("a server of another protocol revision refuses to start, says why, and leaves the sessions running", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-next-"));
  await using _directory = {
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
  const { id, pid } = await server.client().create({ command: ["cat"] });
  await server.kill();
  const main = await nextVersion(directory);
  const places = ["--bind", "127.0.0.1", "--port", "0", "--control-dir", server.controlDir];
  const child = spawn(process.execPath, [main, "serve", "--no-auth", ...places], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [[code], said] = await Promise.all([once(child, "exit"), text(child.stderr)]);
  expect(code).toBe(1);
  expect(said).toMatch(
    new RegExp(
      `session host .* uses revision ${PROTOCOL_REVISION} of the protocol, ` +
        `this server revision ${PROTOCOL_REVISION + 1}; its sessions continue`,
    ),
  );
  await server.restart();
  expect(await server.client().get(id)).toMatchObject({ status: "running", pid });
});
