import { readFile } from "node:fs/promises";
import { ServiceError } from "../../protocol/errors.ts";
import { isErrno, replaceFile } from "./atomic-file.ts";

/** Writes `value` as JSON: whole or not at all, with this mode whatever the umask allows less. Options as `replaceFile`. */
export async function writeJsonFile(
  path: string,
  value: unknown,
  mode: number,
  options: { readonly isDurable?: boolean } = {},
): Promise<void> {
  await replaceFile(path, new TextEncoder().encode(`${JSON.stringify(value)}\n`), mode, options);
}

/**
 * What a JSON file holds, made a T by `parse`, which throws when it is something else; `undefined` when there is no
 * such file. A file that is no JSON or that `parse` refuses: ServiceError `internal_error` that names it.
 */
export async function readJsonFile<T>(path: string, parse: (value: unknown) => T): Promise<T | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  try {
    return parse(JSON.parse(text));
  } catch (cause) {
    throw new ServiceError("internal_error", `${path} is damaged`, { cause });
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}
