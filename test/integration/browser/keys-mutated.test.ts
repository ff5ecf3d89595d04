// The parser of key files with a real browser's cryptography, outside the page.
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { expect, test } from "vitest";
import { z } from "zod";
import { KeyFiles } from "../../unit/web/keys/key-files.ts";
import { useStage } from "./stage.ts";

const ENTRY = fileURLToPath(new URL("../../../src/web/login/keys/key-file.ts", import.meta.url));
const Outcome = z.object({
  tries: z.int(),
  taken: z.int(),
  others: z.array(z.int()),
  surprises: z.array(z.string()),
});

const stage = useStage();

/** Script that defines `keyFile.readKeyFile`. */
async function bundle(): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: "error",
    build: { write: false, lib: { entry: ENTRY, formats: ["iife"], name: "keyFile" } },
  });
  const [{ output } = { output: [] }] = Array.isArray(result) ? result : "output" in result ? [result] : [];
  const [chunk] = output;
  if (chunk?.type !== "chunk") throw new Error("nothing was built");
  return chunk.code;
}

/**
 * Changes each byte of `file` in some ways and parses it; returns mutations that gave another key, and unexpected
 * errors.
 */
function mutate(file: string): string {
  return `(async () => {
    const file = ${JSON.stringify(file)};
    const outcome = { tries: 0, taken: 0, others: [], surprises: [] };
    const read = async (text) => (await keyFile.readKeyFile(crypto.subtle, text)).publicKey.join();
    const whole = await read(file);
    for (let at = 0; at < file.length; at += 1) {
      const byte = file.charCodeAt(at);
      for (const other of [byte ^ 1, byte ^ 32, byte ^ 128, 65, 10]) {
        if (other === byte) continue;
        outcome.tries += 1;
        try {
          const key = await read(file.slice(0, at) + String.fromCharCode(other) + file.slice(at + 1));
          if (key === whole) outcome.taken += 1;
          else outcome.others.push(at);
        } catch (error) {
          const isRefusal = error.name === "ServiceError" && error.code === "invalid_request" && error.message.length > 20;
          if (!isRefusal) outcome.surprises.push(at + ": " + error);
        }
      }
    }
    return outcome;
  })()`;
}

test("whichever byte of a key file is changed, the browser takes the same key or none", async () => {
  const { server, chromium } = stage();
  await using files = await KeyFiles.open();
  await using driver = await chromium.open(server.url);
  const { page } = driver;
  const script = await bundle();
  const ssh = (await files.sshKeygen("-t", "ed25519", "-C", "ada@forge")).file;
  const openssl = await files.openssl("genpkey", "-algorithm", "ed25519");
  const outcomeOf = async (file: string) => Outcome.parse(await page.evaluate(`${script};\n${mutate(file)}`));
  const { tries, taken, ...outcome } = await outcomeOf(ssh);
  expect(outcome).toEqual({ others: [], surprises: [] });
  expect(tries).toBeGreaterThan(ssh.length * 3);
  // Line ends, and the comment.
  expect(taken).toBeGreaterThan(0);
  // A file of version 1 has no public key: other 32 bytes are another key, and the only such mutations.
  const { others, surprises } = await outcomeOf(openssl);
  expect(surprises).toEqual([]);
  const seed = openssl.indexOf("\n") + 1 + Math.floor((16 * 4) / 3);
  expect(others.filter((at) => at < seed || at > openssl.lastIndexOf("\n-----END"))).toEqual([]);
});
