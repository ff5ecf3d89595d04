import { execFileSync } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { avatarPath, findAvatar, photoBytes } from "../../../../src/auth/accounts/avatar.ts";

/** The first bytes of pictures. */
const JPEG = Buffer.from("ffd8ffe000104a46494600010100004800480000ffd9", "hex");
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

/** As macOS 15 prints it: groups of four bytes on one line after the name. */
const PHOTO = "JPEGPhoto:\n ffd8ffe0 00104a46 49460001 01000048 00480000 ffd9\n";
const NO_SUCH_KEY = "";
const AVATAR_PATH = "Picture: /Library/User/eagle.png\n";
const AVATAR_PATH_WITH_SPACES = "Picture:\n /Library/User Pictures/Animals/Eagle.tif\n";

/** A directory whose answers were written down before; `undefined`: it fails. */
function directory(answers: Readonly<Record<string, string | undefined>>) {
  const asked: string[][] = [];
  const run = async (file: string, args: readonly string[]) => {
    asked.push([file, ...args]);
    const stdout = answers[args.at(-1) ?? ""];
    if (stdout === undefined) throw new Error("dscl took longer than 5000 ms");
    return { code: 0, stdout };
  };
  return { run, asked };
}

const directoryWith = (answers: Readonly<Record<string, string | undefined>>) => {
  const { run, asked } = directory(answers);
  return { find: () => findAvatar("ada", run), asked };
};

test("the photo of the directory is the picture", async () => {
  const { find, asked } = directoryWith({ JPEGPhoto: PHOTO, Picture: AVATAR_PATH });
  expect(await find()).toEqual({ type: "image/jpeg", content: JPEG.toString("base64"), source: "dscl" });
  expect(asked).toEqual([["/usr/bin/dscl", ".", "-read", "/Users/ada", "JPEGPhoto"]]);
});

test.each([NO_SUCH_KEY, "JPEGPhoto:\n zz\n", "JPEGPhoto:\n 49492a00\n", undefined])(
  "without a photo (%j) it is the picture that a path leads to",
  async (photo) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-avatar-"));
    const path = join(folder.path, "my picture.png");
    await writeFile(path, PNG);
    const { find } = directoryWith({ JPEGPhoto: photo, Picture: `Picture:\n ${path}\n` });
    expect(await find()).toMatchObject({ type: "image/png", source: "picture_path" });
  },
);

test("what is no picture, too large, no file or not there is none", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-avatar-"));
  const large = join(folder.path, "large.jpg");
  await writeFile(large, Buffer.concat([JPEG, Buffer.alloc(3 * 1024 * 1024)]));
  for (const path of ["/etc/passwd", "/dev/zero", folder.path, large, "/no/such.png", "relative.png"]) {
    const { find } = directoryWith({ JPEGPhoto: NO_SUCH_KEY, Picture: `Picture: ${path}\n` });
    expect([path, await find().catch(() => undefined)]).toEqual([path, undefined]);
  }
  await expect(directoryWith({}).find()).rejects.toThrow("took longer");
});

test("a pipe is no picture, and nobody waits for its writer", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-avatar-"));
  const path = join(folder.path, "pipe.png");
  execFileSync("mkfifo", [path]);
  const { find } = directoryWith({ JPEGPhoto: NO_SUCH_KEY, Picture: `Picture: ${path}\n` });
  expect(await find()).toBeUndefined();
});

test("a path is read from its own line and from that of its name", () => {
  expect(avatarPath(AVATAR_PATH)).toBe("/Library/User/eagle.png");
  expect(avatarPath(AVATAR_PATH_WITH_SPACES)).toBe("/Library/User Pictures/Animals/Eagle.tif");
  for (const none of [
    "",
    "Picture:\n",
    "Picture: \n",
    "Picture: a\nb",
    "No such key: Picture\n",
    "Picture: ../x\n",
  ])
    expect([none, avatarPath(none)]).toEqual([none, undefined]);
});

test("hex is read with and without spaces, and nothing else", () => {
  expect(photoBytes("JPEGPhoto: ffd8ff\n")).toEqual(new Uint8Array([0xff, 0xd8, 0xff]));
  expect(photoBytes("JPEGPhoto:\n ffd8\n ff\n")).toEqual(new Uint8Array([0xff, 0xd8, 0xff]));
  for (const none of ["", "JPEGPhoto:\n", "JPEGPhoto: fff\n", "JPEGPhoto: xx\n", "Other: ffd8ff\n"])
    expect([none, photoBytes(none).length]).toEqual([none, 0]);
  expect(photoBytes(`JPEGPhoto: ${"ff".repeat(3 * 1024 * 1024)}`)).toHaveLength(0);
});

test("whatever the directory says, the parsers only read it", async () => {
  const line = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("JPEGPhoto:", "Picture:", "\n", " ff"),
  );
  await fc.assert(
    fc.property(fc.array(line), (parts) => {
      for (const text of [parts.join(""), `JPEGPhoto:${parts.join("")}`, `Picture:${parts.join("")}`]) {
        expect(photoBytes(text)).toBeInstanceOf(Uint8Array);
        expect(avatarPath(text) ?? "/").toMatch(/^\//);
      }
    }),
  );
});
