// What a user's own processes can do to the lookup of that user's groups, which root then gives to the user's programs.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { userRunner } from "../../../src/sessions/run-as/run-as.ts";
import { SystemUser } from "../auth/system-user.ts";
import { killIfThere } from "../harness/processes.ts";

const FORGERIES = 3;

/** Yama restricts tracing to descendants, and so stops this attack. */
function mayTrace(): boolean {
  try {
    return readFileSync("/proc/sys/kernel/yama/ptrace_scope", "utf8").startsWith("0");
  } catch {
    return true;
  }
}

/**
 * Stops each other process of its user, takes its standard output as a tracer may (pidfd_getfd(2)), and writes there that it is in
 * root's group. The numbers of the calls are the same on all architectures but Alpha.
 */
const ATTACK = String.raw`
  use strict; my %done; $| = 1; print "ready\n";
  my $status = "Uid:" . "\t$<" x 4 . "\nGroups:\t0 \n";
  while (1) {
    opendir(my $proc, "/proc") or die;
    for my $pid (grep { /^\d+$/ && $_ != $$ && !$done{$_} } readdir $proc) {
      kill "STOP", $pid or next;
      $done{$pid} = 1;
      for (1 .. 400) {
        my $pidfd = syscall(434, $pid + 0, 0);
        last if $pidfd < 0;
        my $fd = syscall(438, $pidfd, 1, 0);
        open(my $closed, "<&=", $pidfd);
        if ($fd >= 0) { open(my $out, ">&=", $fd); syswrite $out, $status; print "forged\n"; last; }
        kill "CONT", $pid; select undef, undef, undef, 0.00005; kill "STOP", $pid;
      }
      kill "CONT", $pid;
    }
  }
`;

/** Stops each other process of its user. Not only those with a higher number: numbers begin anew. */
const STOPPER = String.raw`
  $| = 1; print "ready\n";
  while (1) {
    opendir(my $proc, "/proc") or die;
    for my $pid (grep { /^\d+$/ && $_ != $$ } readdir $proc) { kill "STOP", $pid; }
  }
`;

function processes(isMeant: (folder: string) => boolean): readonly number[] {
  const isFound = (folder: string): boolean => {
    try {
      return isMeant(folder);
    } catch {
      return false; // It has ended.
    }
  };
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => isFound(`/proc/${pid}`)).map(Number);
}

test.runIf(process.getuid?.() === 0 && process.platform === "linux")(
  "a user's processes cannot keep the lookup of the user's groups, which root runs, for ever",
  async () => {
    await using user = await SystemUser.make();
    const stopper = spawn("perl", ["-e", STOPPER], {
      ...{ uid: user.uid, gid: user.gid },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(stopper, "exit");
    try {
      await once(stopper.stdout, "data");
      // A lookup may be over before it is stopped.
      const failure = await eventually(
        () =>
          userRunner(user.name, {}, undefined).then(
            () => undefined,
            (error: unknown) => error,
          ),
        "a lookup that is stopped",
      );
      expect(failure).toMatchObject({ code: "launch_failed" });
      const isLookup = (folder: string): boolean =>
        statSync(folder).uid === 0 &&
        readFileSync(`${folder}/cmdline`, "utf8").startsWith(`runuser\0-u\0${user.name}\0`);
      await eventually(async () => processes(isLookup).length === 0 || undefined, "the end of runuser");
    } finally {
      stopper.kill("SIGKILL");
      await ended;
      // What runs as the user is the user's to stop and to keep, within the user's limits.
      const ofUser = processes((folder) => statSync(folder).uid === user.uid);
      for (const pid of ofUser) killIfThere(pid, "SIGKILL");
    }
  },
);

test.runIf(process.getuid?.() === 0 && process.platform === "linux" && mayTrace())(
  "a user's processes cannot add groups to the user's next program",
  async () => {
    await using user = await SystemUser.make();
    const { stdout } = await promisify(execFile)("id", ["-G", user.name]);
    const groups = stdout.trim().split(" ").map(Number);
    const stdio = ["ignore", "pipe", "inherit"] as const;
    const attacker = spawn("perl", ["-e", ATTACK], { uid: user.uid, gid: user.gid, stdio: [...stdio] });
    let said = "";
    attacker.stdout?.on("data", (bytes: Buffer) => {
      said += bytes;
    });
    const ended = once(attacker, "exit");
    const found: unknown[] = [];
    const lookUp = async (): Promise<unknown> =>
      JSON.parse((await userRunner(user.name, {}, undefined)).identity)[1];
    const forgeries = (): number => said.split("forged\n").length - 1;
    try {
      await eventually(async () => said.includes("ready") || undefined, "the attacker");
      await eventually(async () => {
        // The attacker may make it fail.
        const seen = await lookUp().catch(() => undefined);
        if (seen !== undefined) found.push(seen);
        return forgeries() >= FORGERIES || undefined;
      }, "forgeries");
    } finally {
      attacker.kill("SIGKILL");
      await ended;
    }
    found.push(await lookUp());
    expect(found).toEqual(found.map(() => groups));
  },
);
