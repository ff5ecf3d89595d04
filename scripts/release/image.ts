// The image as a file of a release.
import { execFileSync } from "node:child_process";

/** Writes `tar`.gz. Throws if the engine does not give the whole image, whose failure a pipe to gzip would hide. */
export function saveImage(image: string, tar: string): void {
  const save = 'docker save "$0" >"$1" && exec gzip --fast --no-name "$1"';
  execFileSync("sh", ["-c", save, image, tar], { stdio: ["ignore", "ignore", "inherit"] });
}
