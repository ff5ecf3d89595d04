import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceError } from "../../../../../src/protocol/errors.ts";
import { writePem } from "../../../../../src/web/login/keys/format/pem.ts";
import { writePkcs8 } from "../../../../../src/web/login/keys/format/pkcs8.ts";
import { publicLine } from "../../../../../src/web/login/keys/format/public-line.ts";
import { bodyOf, hex, opensshFile, read, WITH_ATTRIBUTES } from "../../keys/key-file-reading.ts";
import { KeyFiles, opensslAnswer } from "../../keys/key-files.ts";

let files: KeyFiles;
beforeAll(async () => {
  files = await KeyFiles.open();
});
afterAll(() => files[Symbol.asyncDispose]());

/** The sentence that it is refused with. */
async function refusal(file: string): Promise<string> {
  const error = await read(file).then(
    () => new Error("it was taken"),
    (reason: unknown) => reason,
  );
  if (error instanceof ServiceError && error.code === "invalid_request") return error.message;
  throw error;
}

test("a key of ssh-keygen keeps its comment, and its public key is the one in the .pub file", async () => {
  for (const comment of ["ada@forge", "", "zwölf Boxkämpfer"]) {
    const { file, line } = await files.sshKeygen("-t", "ed25519", "-C", comment);
    const key = await read(file);
    expect([key.comment, publicLine(key.publicKey, key.comment)]).toEqual([comment, line]);
  }
});

test("a key of openssl has the public key that openssl says", async () => {
  const file = await files.openssl("genpkey", "-algorithm", "ed25519");
  const der = await opensslAnswer(file, "pkey", "-pubout", "-outform", "DER");
  const { publicKey, comment } = await read(file);
  expect([hex(publicKey), comment]).toEqual([hex(der.subarray(-32)), ""]);
});

test("a PKCS#8 file of version 2 with attributes and a public key is read", async () => {
  const { publicKey } = await read(WITH_ATTRIBUTES);
  expect(hex(publicKey)).toBe("19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1");
});

test("an exported key is readable by openssl, and is imported as the same key", async () => {
  const { seed, publicKey } = await read((await files.sshKeygen("-t", "ed25519")).file);
  const pem = writePem({ label: "PRIVATE KEY", bytes: writePkcs8(seed) });
  expect(hex((await read(pem)).publicKey)).toBe(hex(publicKey));
  const der = await opensslAnswer(pem, "pkey", "-pubout", "-outform", "DER");
  expect(hex(der.subarray(-32))).toBe(hex(publicKey));
});

test("neither line ends, nor spaces in their place, nor a byte order mark matter", async () => {
  const { file } = await files.sshKeygen("-t", "ed25519");
  const { publicKey } = await read(file);
  const spellings = [
    file.replaceAll("\n", "\r\n"),
    file.replaceAll("\n", " "),
    `\uFEFF\n\n  ${file}\n\n`,
    file.replace(/(?<=[A-Za-z0-9+/=])\n(?!-)/g, ""),
  ];
  for (const spelling of spellings) expect(hex((await read(spelling)).publicKey)).toBe(hex(publicKey));
});

test("each other thing is refused with a sentence of its own", async () => {
  const { file, line } = await files.sshKeygen("-t", "ed25519");
  const openssl = await files.openssl("genpkey", "-algorithm", "ed25519");
  const rsa = await files.openssl("genpkey", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:2048");
  const pkcs8 = async (algorithm: string): Promise<string> =>
    await refusal(await files.openssl("genpkey", "-algorithm", algorithm));
  const ssh = async (...args: readonly string[]): Promise<string> =>
    await refusal((await files.sshKeygen(...args)).file);
  const certificate = await files.openssl(
    "req",
    "-x509",
    "-new",
    "-newkey",
    "ed25519",
    "-nodes",
    "-keyout",
    "/dev/null",
    "-subj",
    "/CN=x",
  );
  const sentences = {
    empty: await refusal(" \n"),
    "not PEM": await refusal("correct horse battery staple"),
    "too large": await refusal("x".repeat(70_000)),
    "public line": await refusal(line),
    "public PEM": await refusal(await opensslText(openssl, "pkey", "-pubout")),
    certificate: await refusal(certificate),
    "RSA of old": await refusal(await opensslText(rsa, "rsa", "-traditional")),
    "EC of old": await refusal(await files.openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout")),
    "RSA in PKCS#8": await refusal(rsa),
    "RSA of ssh-keygen": await ssh("-t", "rsa", "-b", "2048"),
    "ECDSA of ssh-keygen": await ssh("-t", "ecdsa"),
    "ECDSA in PKCS#8": await refusal(
      await files.openssl("genpkey", "-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    ),
    Ed448: await pkcs8("ed448"),
    X25519: await pkcs8("x25519"),
    "encrypted PKCS#8": await refusal(
      await opensslText(openssl, "pkcs8", "-topk8", "-passout", "pass:secret"),
    ),
    "encrypted OpenSSH": await ssh("-t", "ed25519", "-N", "secret"),
    several: await refusal(`${file}${openssl}`),
    "something in front": await refusal(`Bag Attributes\n${openssl}`),
    "something behind": await refusal(`${openssl}# the end\n`),
    PuTTY: await refusal("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n"),
    OpenPGP: await refusal("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n-----END PGP PRIVATE KEY BLOCK-----"),
    unknown: await refusal("-----BEGIN SOMETHING-----\nAAAA\n-----END SOMETHING-----"),
    "cut off": await refusal(file.slice(0, 200)),
    "not base64": await refusal(file.replace("b3Bl", "b3!l")),
    "of two files": await refusal(file.replace("END OPENSSH ", "END ")),
    "nothing in it": await refusal("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"),
  };
  expect(sentences).toMatchInlineSnapshot(`
    {
      "EC of old": "this is an ECDSA key: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "ECDSA in PKCS#8": "this is an ECDSA key: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "ECDSA of ssh-keygen": "this is an ECDSA key: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "Ed448": "this is an Ed448 key: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "OpenPGP": "this is an OpenPGP file: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "PuTTY": "this is a key of PuTTY: puttygen FILE -O private-openssh-new -o COPY makes a copy to import",
      "RSA in PKCS#8": "this is an RSA key: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "RSA of old": "this is an RSA key: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "RSA of ssh-keygen": "this is an RSA key: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "X25519": "this is an X25519 key, which cannot sign: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "certificate": "this is a certificate: import the private key",
      "cut off": "the key is truncated: it does not end with -----END OPENSSH PRIVATE KEY-----",
      "empty": "no key given: choose a file or paste its content",
      "encrypted OpenSSH": "this key is encrypted: take its password away in a copy with ssh-keygen -p -f COPY -N '', and give it another one here",
      "encrypted PKCS#8": "this key is encrypted: make a copy without its password with openssl pkey -in FILE -out COPY, and give it another one here",
      "not PEM": "this is not a key file: it has no line -----BEGIN … KEY-----",
      "not base64": "the key is malformed: the content between its BEGIN and END lines is not base64",
      "nothing in it": "there is nothing between the BEGIN and the END line",
      "of two files": "the BEGIN and END lines of the key do not match",
      "public PEM": "this is a public key: import the private key, the file without .pub",
      "public line": "this is a public key: import the private key, the file without .pub",
      "several": "this contains several keys: import one at a time",
      "something behind": "there is text after the key: remove it",
      "something in front": "there is text before the key: remove everything before -----BEGIN",
      "too large": "this is too large for a key",
      "unknown": "“SOMETHING” is not a supported kind of key file",
    }
  `);
});

async function opensslText(input: string, ...args: readonly string[]): Promise<string> {
  return new TextDecoder().decode(await opensslAnswer(input, ...args));
}

test("an OpenSSH key whose parts do not fit together is refused", async () => {
  const body = bodyOf((await files.sshKeygen("-t", "ed25519", "-C", "x")).file);
  const kind = body.lastIndexOf("ssh-ed25519");
  const changed = (at: number, ...bytes: readonly number[]): string => {
    const copy = Uint8Array.from(body);
    copy.set(bytes, at);
    return opensshFile(copy);
  };
  /** Whatever the random byte is. */
  const flipped = (at: number): string => changed(at, (body[at] ?? 0) ^ 1);
  const publicKey = kind + "ssh-ed25519".length + 4;
  const seed = publicKey + 32 + 4;
  const sentences = {
    "check numbers": await refusal(flipped(kind - 8)),
    "public key in the open": await refusal(flipped(body.indexOf("ssh-ed25519") + 15)),
    "public key inside": await refusal(flipped(publicKey)),
    seed: await refusal(flipped(seed)),
    "public key behind the seed": await refusal(flipped(seed + 32)),
    padding: await refusal(changed(body.length - 1, 99)),
    "several keys": await refusal(changed(body.indexOf("ssh-ed25519") - 9, 2)),
    "trailing bytes": await refusal(opensshFile(Buffer.concat([body, Buffer.of(0)]))),
    truncated: await refusal(opensshFile(body.subarray(0, -1))),
    "kind inside": await refusal(changed(kind, ...Buffer.from("ssh-rsa"))),
  };
  expect(sentences).toMatchInlineSnapshot(`
    {
      "check numbers": "the key is malformed: its two check numbers differ",
      "kind inside": "this is a key of another kind: only Ed25519 keys work here; ssh-keygen -t ed25519 makes one",
      "padding": "the key is malformed: its padding is not 1, 2, 3 and so on",
      "public key behind the seed": "the key is inconsistent: its public key does not match its private key",
      "public key in the open": "the key is inconsistent: its public key does not match its private key",
      "public key inside": "the key is inconsistent: its public key does not match its private key",
      "seed": "the key is inconsistent: its public key does not match its private key",
      "several keys": "this contains several keys: import one at a time",
      "trailing bytes": "there is text after the key: remove it",
      "truncated": "the key is truncated: import the whole file",
    }
  `);
});

test("a malformed PKCS#8 key is refused", async () => {
  const body = bodyOf(WITH_ATTRIBUTES);
  const pkcs8 = (bytes: Uint8Array): Promise<string> => refusal(writePem({ label: "PRIVATE KEY", bytes }));
  const changed = (at: number, ...bytes: readonly number[]): Promise<string> => {
    const copy = Uint8Array.from(body);
    copy.set(bytes, at);
    return pkcs8(copy);
  };
  const sentences = {
    "public key": await changed(body.length - 1, 0),
    "bits left over": await changed(body.length - 33, 1),
    "version 3": await changed(4, 2),
    "version 1 with a public key": await changed(4, 0),
    "trailing bytes": await pkcs8(Buffer.concat([body, Buffer.of(0)])),
    truncated: await pkcs8(body.subarray(0, -1)),
    "a long way to say a length": await pkcs8(
      Buffer.concat([Buffer.of(0x30, 0x81, body.length - 2), body.subarray(2)]),
    ),
    "a length without end": await changed(1, 0x80),
  };
  expect(sentences).toMatchInlineSnapshot(`
    {
      "a length without end": "the key is malformed: one of its fields has an invalid length",
      "a long way to say a length": "the key is malformed: the length of a field is not in its shortest form",
      "bits left over": "the key is malformed: its public key is not 32 bytes long",
      "public key": "the key is inconsistent: its public key does not match its private key",
      "trailing bytes": "there is text after the key: remove it",
      "truncated": "the key is truncated: import the whole file",
      "version 1 with a public key": "the key is malformed: it has an unexpected field",
      "version 3": "the key is malformed: its version is unknown",
    }
  `);
});
