import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { hostHealth } from "../../../src/remote/host-process.ts";

/** The pids of the git workers of that control directory's session host. */
export async function gitWorkers(controlDir: string): Promise<readonly number[]> {
  const host = (await hostHealth(join(controlDir, "host.sock")))?.pid;
  const pids = (await readdir("/proc")).map(Number).filter(Number.isInteger);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [words = "", stat = ""] = await Promise.all(
        ["cmdline", "stat"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")),
      );
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      return parent === host && words.includes("/git-worker.") ? [pid] : [];
    }),
  );
  return found.flat();
}
