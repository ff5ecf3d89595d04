// The init container of the component ha: waits until a Redis, or one of its Sentinels, listens.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { PATIENCE_MS } from "../harness/patience.ts";
import { K8S } from "./overlay.ts";

test.each(["redis://:w%2Ford@HOST", "rediss+sentinel://me:word@127.0.0.1:9,HOST/main/0?sentinel-password=x"])(
  "an HQ's pod waits until something listens at %s",
  async (address) => {
    const { spec } = parse(readFileSync(join(K8S, "components/ha/hq.yaml"), "utf8")).spec.template;
    const [{ args }] = spec.initContainers;
    await using server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const at = server.address();
    if (at === null || typeof at === "string") throw new Error("no port");
    await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-await-"));
    const file = join(folder.path, "url");
    await writeFile(file, `${address.replace("HOST", `127.0.0.1:${at.port}`)}\n`);
    const run = promisify(execFile)(process.execPath, ["-e", args[0], file], { timeout: PATIENCE_MS });
    expect(await run).toEqual({ stdout: "", stderr: "" });
  },
);
