// Debian's sshd, on a loopback port with a separate configuration.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { PATIENCE_MS } from "../harness/patience.ts";

const run = promisify(execFile);
/** The default key exchange costs each login 60 ms of CPU time. */
const KEY_EXCHANGE = "KexAlgorithms=curve25519-sha256";
/** Proves that the requested program runs, and that it has a terminal. */
const COMMAND = "test -t 0 && echo a terminal of $((6 * 7))";

/**
 * Needs root. Only keys log in; all key options have sshd's defaults. Accounts are judged by sshd itself, or by PAM as
 * Debian configures it.
 */
export class SshDaemon implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #directory: string;
  readonly #port: number;

  private constructor(process: ChildProcess, directory: string, port: number) {
    this.#process = process;
    this.#directory = directory;
    this.#port = port;
  }

  static async start(accounts: "sshd" | "pam" = "sshd"): Promise<SshDaemon> {
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-sshd-"));
    const [hostKey, config] = [join(directory, "host-key"), join(directory, "sshd_config")];
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", hostKey]);
    const port = await freePort();
    const places = [`ListenAddress 127.0.0.1:${port}`, `ListenAddress [::1]:${port}`, `HostKey ${hostKey}`];
    const ways = ["PasswordAuthentication no", "KbdInteractiveAuthentication no"];
    const pam = `UsePAM ${accounts === "pam" ? "yes" : "no"}`;
    const rules = ["StrictModes yes", "PidFile none", "PrintMotd no", "MaxStartups 100"];
    await writeFile(config, `${[...places, ...ways, pam, ...rules].join("\n")}\n`);
    // sshd's privilege separation directory, which its service would create.
    await mkdir("/run/sshd", { recursive: true, mode: 0o755 });
    const child = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", config], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    await withDeadline(listening(child), PATIENCE_MS, "the start of sshd");
    return new SshDaemon(child, directory, port);
  }

  /** Whether that key gets a terminal with a chosen program. `privateKey`: its file. */
  async letsIn(user: string, privateKey: string, at: "127.0.0.1" | "::1" = "127.0.0.1"): Promise<boolean> {
    const options = ["BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=no", "LogLevel=QUIET"];
    const files = ["-F", "none", "-i", privateKey, "-o", "UserKnownHostsFile=/dev/null"];
    const settings = [...options, KEY_EXCHANGE].flatMap((option) => ["-o", option]);
    const target = ["-p", `${this.#port}`, "-tt", `${user}@${at}`, COMMAND];
    const limits = { timeout: PATIENCE_MS };
    const { stdout } = await run("ssh", [...files, ...settings, ...target], limits).catch(outputOf);
    return stdout.includes("a terminal of 42");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    await withDeadline(ended, PATIENCE_MS, "the end of sshd");
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** ssh fails if it is refused; any exit code but that is a fault of the test. */
function outputOf(error: unknown): { readonly stdout: string } {
  if (error instanceof Error && "stdout" in error && "code" in error && typeof error.code === "number") {
    return { stdout: String(error.stdout) };
  }
  throw error;
}

async function listening(child: ChildProcess): Promise<void> {
  if (child.stderr === null) throw new Error("no standard error");
  let log = "";
  for await (const line of createInterface({ input: child.stderr })) {
    log += `${line}\n`;
    // It prints a line for both addresses, the second one last; later output is unused but must be drained.
    if (/listening on 127\.0\.0\.1/i.test(line)) {
      child.stderr.resume();
      return;
    }
  }
  throw new Error(`sshd ended: ${log}`);
}
