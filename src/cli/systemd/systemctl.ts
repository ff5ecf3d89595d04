import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Finished, runSystemCommand } from "../../lib/os/system-command.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Scope } from "./unit-file.ts";

/** Longer than start or stop of both units. */
const TIMEOUT_MS = 240_000;
const SHOWN_LINES = 12;

/** The service manager of the machine, or of a user. */
export class Systemctl {
  readonly #scope: Scope;
  readonly #limits: { readonly timeoutMs: number; readonly env: Readonly<Record<string, string>> };

  /** Throws `start_failed` if the manager does not run. */
  constructor(scope: Scope, { env }: Pick<ProcessContext, "env">) {
    this.#scope = scope;
    this.#limits = { timeoutMs: TIMEOUT_MS, env: busOf(env) };
    if (!isRunning(scope, env)) throw new ServiceError("start_failed", absence(scope));
  }

  async run(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.ask(...args);
    if (code === 0) return stdout;
    const words = ["systemctl", ...this.#userFlag, ...args].join(" ");
    throw new ServiceError("start_failed", `${words} failed: ${stderr.trim() || `exit code ${code}`}`);
  }

  async ask(...args: readonly string[]): Promise<Finished> {
    return await runSystemCommand("systemctl", [...this.#userFlag, "--no-pager", ...args], this.#limits);
  }

  async properties(unit: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const lines = (await this.run("show", unit, `--property=${names.join(",")}`)).split("\n");
    return new Map(lines.map((line) => [line.replace(/=.*/s, ""), line.replace(/^[^=]*=/, "")]));
  }

  async log(unit: string): Promise<readonly string[]> {
    const which = this.#scope === "user" ? "--user-unit" : "--unit";
    const args = [which, unit, "--output=cat", "--no-pager", `--lines=${SHOWN_LINES}`];
    const { code, stdout } = await runSystemCommand("journalctl", args, this.#limits);
    return code === 0 ? stdout.split("\n").filter((line) => line !== "") : [];
  }

  get #userFlag(): readonly string[] {
    return this.#scope === "user" ? ["--user"] : [];
  }
}

/** As sd_booted(3) does. */
function isRunning(scope: Scope, env: ProcessContext["env"]): boolean {
  if (scope === "system") return existsSync("/run/systemd/system");
  return env.XDG_RUNTIME_DIR !== undefined && existsSync(join(env.XDG_RUNTIME_DIR, "systemd", "private"));
}

function absence(scope: Scope): string {
  if (scope === "user") {
    return "no systemd of this user runs here: log in as them anew, or see loginctl enable-linger; --dry-run prints what would be written";
  }
  const instead = "--dry-run prints what would be written";
  if (process.platform === "linux") {
    return `systemd does not run this machine: have its service manager run ttyhq serve, or see docker/ for containers; ${instead}`;
  }
  return `this is no Linux with systemd: have the service manager of this system run ttyhq serve; ${instead}`;
}

function busOf(env: ProcessContext["env"]): Readonly<Record<string, string>> {
  const names = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}
