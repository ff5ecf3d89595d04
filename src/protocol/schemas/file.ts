import { z } from "zod";

/** Of a name on every usual file system. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_LENGTH = 4_096;

/** One component of a path: it leads to no other folder, and cannot be mistaken for an option or a second line. */
export const FileName = z
  .string()
  .min(1, "the file has no name")
  .refine((name) => name !== "." && name !== "..", "must be the name of a file")
  .refine((name) => !/[/\p{Cc}\p{Cs}]/u.test(name), "must not contain a slash or a control character")
  .refine(
    (name) => new TextEncoder().encode(name).length <= MAX_NAME_BYTES,
    `must have at most ${MAX_NAME_BYTES} bytes: rename the file`,
  );

export const FilePath = z
  .string()
  .min(1, "the path is empty")
  .max(MAX_PATH_LENGTH)
  .refine((path) => !path.includes("\0"), "must not contain a NUL character");

export const SavedFile = z.object({
  path: z.string().describe("absolute"),
  name: z.string().describe("the last part of path: another one than asked for if that was taken"),
  size: z.int().min(0).describe("bytes"),
});
export type SavedFile = z.infer<typeof SavedFile>;
