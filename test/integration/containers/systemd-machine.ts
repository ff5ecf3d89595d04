import { randomUUID } from "node:crypto";
import { env } from "node:process";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { buildImage } from "./built-image.ts";
import { docker, type Ran, run } from "./docker.ts";

/** An image to test unchanged; by default the current sources are built. */
const GIVEN_IMAGE = env.TTYHQ_SYSTEMD_IMAGE;
const IMAGE = GIVEN_IMAGE ?? "ttyhq-systemd:test";
const PACKAGES = "dbus libpam-systemd systemd systemd-sysv";

/** systemd's expectations of a machine: mounts that are shared with those of its units, and its own cgroups. */
const INIT =
  "mount --make-rshared /; umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec /sbin/init";
const RIGHTS = [
  ...["--cap-add", "SYS_ADMIN", "--cap-add", "SYS_PTRACE", "--cgroupns", "private"],
  ...["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"],
  ...["--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp", "--stop-signal", "SIGRTMIN+3"],
];

const AS_ROOT = ["--user", "0", "--workdir", "/"];

export async function systemdImage(): Promise<void> {
  if (GIVEN_IMAGE === undefined) await buildImage(IMAGE, ["--build-arg", `PACKAGES=${PACKAGES}`]);
}

/** A machine with a real systemd, in a container. Disposal removes it. */
export class SystemdMachine implements AsyncDisposable {
  readonly name = `ttyhq-test-${randomUUID()}`;

  static async start(): Promise<SystemdMachine> {
    const machine = new SystemdMachine();
    const how = [
      "--detach",
      "--user",
      "0",
      "--workdir",
      "/",
      "--env",
      "container=docker",
      "--entrypoint",
      "/bin/sh",
    ];
    await docker("run", "--name", machine.name, ...how, ...RIGHTS, IMAGE, "-c", INIT);
    await machine.up();
    return machine;
  }

  /** Resolves when the machine has started. */
  async up(): Promise<void> {
    await eventually(async () => {
      const { stdout } = await this.run("systemctl", "is-system-running");
      return stdout === "running" || stdout === "degraded" ? true : undefined;
    }, `systemd in ${this.name}`);
  }

  /** Shuts the machine down and restarts it. */
  async restart(): Promise<void> {
    await docker("restart", "--time", "60", this.name);
    await this.up();
  }

  /** Runs a program as root to its end. */
  run(...words: readonly string[]): Promise<Ran> {
    return run("docker", ["exec", ...AS_ROOT, this.name, ...words]);
  }

  /** Its standard output; throws if it fails. */
  output(...words: readonly string[]): Promise<string> {
    return docker("exec", ...AS_ROOT, this.name, ...words);
  }

  sh(script: string): Promise<string> {
    return this.output("sh", "-c", script);
  }

  ttyhq(...words: readonly string[]): Promise<Ran> {
    return this.run("ttyhq", ...words);
  }

  property(unit: string, name: string): Promise<string> {
    return this.output("systemctl", "show", "--property", name, "--value", unit);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await docker("rm", "--force", "--volumes", this.name);
  }
}
