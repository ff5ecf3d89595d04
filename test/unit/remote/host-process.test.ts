import { appendFile, mkdtempDisposable, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ensureHost } from "../../../src/remote/host-process.ts";

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
