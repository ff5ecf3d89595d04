import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Tell } from "./installation.ts";

/** Where logind keeps, as files of their names, whose services go on without a login. */
const LINGERING = "/var/lib/systemd/linger";

export function lingerNotice(user: string, tell: Tell): void {
  if (existsSync(join(LINGERING, user))) return;
  tell(
    "it ends when you log out, programs included: loginctl enable-linger lets it go on, and starts it with the machine",
  );
}
