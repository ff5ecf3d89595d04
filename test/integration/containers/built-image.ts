import { env } from "node:process";
import { fileURLToPath } from "node:url";
import { BUILD_TIMEOUT_MS, output } from "./docker.ts";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** TTYHQ_IMAGE, as for compose.yaml: an image to test unchanged. */
export const IMAGE = env.TTYHQ_IMAGE ?? "ttyhq:dev";

/**
 * The image of the current sources, unless another one is to be tested. Without changes the build takes about a second.
 */
export async function builtImage(): Promise<string> {
  if (env.TTYHQ_IMAGE === undefined) await buildImage(IMAGE);
  return IMAGE;
}

export async function buildImage(name: string, options: readonly string[] = []): Promise<void> {
  await output(`${ROOT}docker/build.sh`, ["--quiet", ...options], {
    env: { IMAGE: name },
    timeoutMs: BUILD_TIMEOUT_MS,
  });
}
