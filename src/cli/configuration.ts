import { readFileSync } from "node:fs";
import type { ConfigInput } from "../config/config.ts";
import type { Flags } from "../config/flags.ts";
import type { Surroundings } from "./surroundings.ts";

/** What the configuration is made from. */
export function configInput(flags: Flags, surroundings: Surroundings): ConfigInput {
  const { env, home, user, cwd, hostname } = surroundings;
  return { flags, env, home, user, cwd, hostname, readFile: (path) => readFileSync(path) };
}
