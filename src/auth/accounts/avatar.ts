// A macOS user's picture from the system directory (specification 5.6), looked up by the account worker.
import { open } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { READ_FLAGS } from "../../lib/fs/open-flags.ts";
import type { Finished, runSystemCommand } from "../../lib/os/system-command.ts";
import type { Avatar } from "./methods.ts";

const MAX_AVATAR_BYTES = 2 * 1024 * 1024;
/** Two hex digits a byte, and a space after every four. */
const MAX_OUTPUT_BYTES = 3 * MAX_AVATAR_BYTES;
const TIMEOUT_MS = 5_000;

const SIGNATURES = [
  { type: "image/jpeg", begins: [0xff, 0xd8, 0xff] },
  { type: "image/png", begins: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
] as const;

type RunSystem = (...args: Parameters<typeof runSystemCommand>) => Promise<Pick<Finished, "code" | "stdout">>;

/** `undefined` without a picture that a browser can show. */
export async function findAvatar(user: string, run: RunSystem): Promise<Avatar | undefined> {
  const read = async (attribute: string): Promise<string> => {
    const args = [".", "-read", `/Users/${user}`, attribute];
    const limits = { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES };
    const { code, stdout } = await run("/usr/bin/dscl", args, limits);
    return code === 0 ? stdout : "";
  };
  const photo = avatarOf(photoBytes(await read("JPEGPhoto").catch(() => "")), "dscl");
  if (photo !== undefined) return photo;
  const path = avatarPath(await read("Picture"));
  return path === undefined ? undefined : avatarOf(await fileBytes(path), "picture_path");
}

/** From `JPEGPhoto:` and lines of hex; empty for anything else. */
export function photoBytes(output: string): Uint8Array {
  const [, hex = ""] = /^JPEGPhoto:\s*([0-9a-fA-F\s]*)$/.exec(output) ?? [];
  const digits = hex.replaceAll(/\s/g, "");
  const isWhole = digits.length % 2 === 0 && digits.length <= 2 * MAX_AVATAR_BYTES;
  return new Uint8Array(Buffer.from(isWhole ? digits : "", "hex"));
}

/** From `Picture: PATH`; a path with spaces is on a line of its own. */
export function avatarPath(output: string): string | undefined {
  const [, path = ""] = /^Picture:[ \n]+([^\0\n]{1,1024})\n?$/.exec(output) ?? [];
  return isAbsolute(path) ? path : undefined;
}

/** Checks the first bytes, because a path may lead anywhere. */
function avatarOf(bytes: Uint8Array, source: Avatar["source"]): Avatar | undefined {
  const kind = SIGNATURES.find(({ begins }) => begins.every((byte, index) => bytes[index] === byte));
  return kind && { type: kind.type, content: Buffer.from(bytes).toString("base64"), source };
}

async function fileBytes(path: string): Promise<Uint8Array> {
  await using file = await open(path, READ_FLAGS);
  const status = await file.stat();
  if (!status.isFile() || status.size > MAX_AVATAR_BYTES) return new Uint8Array();
  return await file.readFile();
}
