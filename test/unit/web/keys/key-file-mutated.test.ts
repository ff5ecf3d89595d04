import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { writePem } from "../../../../src/web/login/keys/format/pem.ts";
import { bodyOf, hex, opensshFile, read, WITH_ATTRIBUTES } from "./key-file-reading.ts";
import { KeyFiles, opensslAnswer } from "./key-files.ts";

let files: KeyFiles;
beforeAll(async () => {
  files = await KeyFiles.open();
});
afterAll(() => files[Symbol.asyncDispose]());

/** Every byte of the text changed in five ways. */
function* mutations(file: string): Generator<{ readonly at: number; readonly text: string }> {
  for (let at = 0; at < file.length; at += 1) {
    const byte = file.charCodeAt(at);
    for (const other of [byte ^ 1, byte ^ 0x20, byte ^ 0x80, 0x41, 0x0a]) {
      const text = `${file.slice(0, at)}${String.fromCharCode(other)}${file.slice(at + 1)}`;
      if (text !== file) yield { at, text };
    }
  }
}

/** The public key, or undefined where it was refused with a sentence. */
async function outcome(file: string): Promise<string | undefined> {
  try {
    return hex((await read(file)).publicKey);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "invalid_request" && error.message.length > 20) {
      return undefined;
    }
    throw error;
  }
}

test("whichever byte of a file that names its public key is changed, it is refused or the same key", async () => {
  const ssh = await files.sshKeygen("-t", "ed25519", "-C", "ada@forge");
  for (const file of [ssh.file, WITH_ATTRIBUTES]) {
    const whole = await outcome(file);
    expect(whole).toBeDefined();
    for (const { at, text } of mutations(file)) {
      expect([at, whole, undefined]).toContain(await outcome(text));
    }
  }
}, 60_000);

test("whichever byte of a file of openssl is changed, it is refused or the key that openssl reads in it", async () => {
  // Version 1 holds the seed alone: any other 32 bytes are another key, and nothing in the file could tell.
  const file = await files.openssl("genpkey", "-algorithm", "ed25519");
  const whole = await outcome(file);
  const others: string[] = [];
  for (const { text } of mutations(file)) {
    const key = await outcome(text);
    if (key !== undefined && key !== whole) others.push(text);
  }
  for (const other of others.slice(0, 20)) {
    const der = await opensslAnswer(other, "pkey", "-pubout", "-outform", "DER");
    expect(await outcome(other)).toBe(hex(der.subarray(-32)));
  }
  const seeds = new Set(others.map((other) => hex(bodyOf(other).subarray(0, 16))));
  expect([...seeds]).toEqual([hex(bodyOf(file).subarray(0, 16))]);
}, 60_000);

test("a file with any other bytes is refused with a sentence", async () => {
  const label = fc.constantFrom("PRIVATE KEY", "OPENSSH PRIVATE KEY", "RSA PRIVATE KEY");
  const magic = Buffer.from("openssh-key-v1\0");
  const start = fc.constantFrom(Buffer.of(), magic, Buffer.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3));
  await fc.assert(
    fc.asyncProperty(label, start, fc.uint8Array({ maxLength: 400 }), async (name, front, rest) => {
      const bytes = Buffer.concat([front, rest]);
      expect(await outcome(writePem({ label: name, bytes }))).toBeUndefined();
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 2_000 }), async (text) => {
      expect(await outcome(text)).toBeUndefined();
    }),
  );
});

test("a key that is cut or has something put into it is refused or the same key", async () => {
  const { file } = await files.sshKeygen("-t", "ed25519");
  const whole = await outcome(file);
  const body = bodyOf(file);
  const at = fc.nat({ max: body.length });
  await fc.assert(
    fc.asyncProperty(at, fc.nat({ max: 8 }), fc.uint8Array({ maxLength: 8 }), async (start, cut, put) => {
      const bytes = Buffer.concat([body.subarray(0, start), put, body.subarray(start + cut)]);
      expect([whole, undefined]).toContain(await outcome(opensshFile(bytes)));
    }),
    { numRuns: 300 },
  );
});
