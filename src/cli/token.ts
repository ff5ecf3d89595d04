import { resolve } from "node:path";
import { ConfigError } from "../config/config-error.ts";
import { readTrustedFile } from "../lib/fs/trusted-path.ts";
import type { ProcessContext } from "./process-context.ts";

/** What a command proves itself with to another machine's server; `undefined`: nothing. Throws ConfigError. */
export function accessToken({ env, cwd }: Pick<ProcessContext, "env" | "cwd">): string | undefined {
  const { TTYHQ_TOKEN: token, TTYHQ_TOKEN_FILE: path } = env;
  // An empty variable is none.
  if (!path) return token || undefined;
  if (token) throw new ConfigError(["TTYHQ_TOKEN and TTYHQ_TOKEN_FILE are both set: set one of them"]);
  try {
    return new TextDecoder().decode(readTrustedFile(resolve(cwd, path))).trimEnd();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`TTYHQ_TOKEN_FILE: cannot read the file: ${reason}`]);
  }
}
