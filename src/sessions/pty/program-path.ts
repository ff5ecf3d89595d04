// Where execvp(3) looks for a program.
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";

type Place = { readonly cwd: string; readonly path: string };

/** The folders of PATH, or the path itself if it contains a slash. */
export function placesOf(file: string, { cwd, path }: Place): string[] {
  if (file.includes("/")) return [resolve(cwd, file)];
  return path.split(delimiter).map((folder) => resolve(cwd, folder));
}

/** Undefined where there is no such program. */
export function findProgram(file: string, place: Place): string | undefined {
  const places = placesOf(file, place);
  return (file.includes("/") ? places : places.map((folder) => resolve(folder, file))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
