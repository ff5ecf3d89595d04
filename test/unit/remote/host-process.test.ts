import { appendFile, mkdtempDisposable, readFile, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ensureHost } from "../../../src/remote/host-process.ts";

const PATIENCE_MS = 30_000;
/** More than fits into a string, as of a host that has run for years. */
const LOG_BYTES = 1024 ** 3;

test("a session host that exits at once is reported with the end of its log, however long that is", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-host-"));
  const [main, logPath] = [join(directory.path, "main.js"), join(directory.path, "host.log")];
  await writeFile(main, 'process.exitCode = 1; console.error("ttyhq: no terminals here");');
  await writeFile(logPath, "");
  await truncate(logPath, LOG_BYTES);
  await appendFile(logPath, "\n");
  const starting = ensureHost({
    ...{ node: process.execPath, main, args: [], env: {}, logPath },
    ...{ controlDir: directory.path, socketPath: join(directory.path, "host.sock") },
  });
  await expect(starting).rejects.toMatchObject({
    code: "host_unreachable",
    message: "the session host did not start: ttyhq: no terminals here",
  });
});

test("a session host that takes long to start is reported with its log, and goes on", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-host-"));
  const [main, logPath] = [join(directory.path, "main.js"), join(directory.path, "host.log")];
  await writeFile(main, "setTimeout(() => {}, 60_000); console.error(process.pid);");
  const program = {
    ...{ node: process.execPath, main, args: [], env: {}, logPath },
    ...{ controlDir: directory.path, socketPath: join(directory.path, "host.sock") },
  };
  await expect(ensureHost(program, 1)).rejects.toMatchObject({
    ...{ code: "host_unreachable", message: `the session host does not answer: see ${logPath}` },
  });
  const pid = async (): Promise<number> => Number(await readFile(logPath, "utf8"));
  await expect.poll(pid, { timeout: PATIENCE_MS }).toBeGreaterThan(0);
  process.kill(await pid(), "SIGKILL");
});
