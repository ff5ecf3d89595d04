import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Follower } from "../harness/follower.ts";
import { viewText } from "../harness/view-bytes.ts";
import { codeOf, type Stage } from "./stage.ts";

/** Events of the session itself: counts of its repository may come at any time. */
function told({ events }: Pick<Follower, "events">): Follower["events"] {
  return events.filter(({ kind }) => kind !== "git-status");
}

export function describeCommands(stage: Stage): void {
  describe("write", () => {
    test("keeps the order of calls that nobody waited for", async () => {
      const file = join(stage.directory, "written");
      const lines = Array.from({ length: 500 }, (_, index) => `${index} ${"x".repeat(index % 37)}\n`);
      const whole = lines.join("");
      const { id, follower } = await stage.ready(
        `stty raw -echo; echo ready; head -c ${whole.length} >${file}`,
      );
      await Promise.all(lines.map((line) => stage.type(id, line)));
      await follower.exit();
      expect(await readFile(file, "utf8")).toBe(whole);
    });

    test("carries all byte values, 512 KiB at once", async () => {
      const file = join(stage.directory, "bytes");
      const bytes = Uint8Array.from({ length: 512 * 1024 }, (_, index) => (index * 7 + (index >> 8)) % 256);
      const { id, follower } = await stage.ready(
        `stty raw -echo; echo ready; head -c ${bytes.length} >${file}`,
      );
      await stage.backend.write(id, bytes);
      await follower.exit();
      expect(Buffer.compare(await readFile(file), bytes)).toBe(0);
    });

    test("refuses as a whole what a program that does not read has no room for, and goes on", async () => {
      const [file, gate] = [join(stage.directory, "room"), join(stage.directory, "gate")];
      const bytes = new Uint8Array(900_000);
      const { id, follower } = await stage.ready(
        `stty raw -echo; echo ready; until [ -e ${gate} ]; do sleep 0.05; done; head -c ${bytes.length + 1} >${file}`,
      );
      await stage.backend.write(id, bytes);
      expect(await codeOf(stage.backend.write(id, Buffer.alloc(200_000, "x")))).toBe("input_overflow");
      expect((await stage.backend.get(id)).status).toBe("running");
      await stage.type(id, "y");
      await writeFile(gate, "");
      await follower.exit();
      expect(Buffer.compare(await readFile(file), Buffer.concat([bytes, Buffer.from("y")]))).toBe(0);
    });
  });

  describe("resize", () => {
    test("reaches the program, the record, the followers and the journal", async () => {
      const { id, follower } = await stage.quietShell();
      await stage.backend.resize(id, { cols: 132, rows: 43 });
      expect(await follower.event("resize")).toEqual({
        kind: "resize",
        dimensions: "132x43",
        cols: 132,
        rows: 43,
      });
      await stage.type(id, "stty size\n");
      await follower.shows(/43 132\r\n/);
      expect(await stage.backend.get(id)).toMatchObject({ cols: 132, rows: 43 });
      await stage.backend.resize(id, { cols: 132, rows: 43 });
      await stage.type(id, "exit\n");
      await follower.exit();
      expect(told(follower).map(({ kind }) => kind)).toEqual(["resize", "exit"]);
      const events = await viewText(stage.backend, id, { kind: "events", from: 0 });
      expect(JSON.parse(events)).toMatchObject([
        { kind: "r", data: "80x24", offset: 0 },
        { kind: "r", data: "132x43", offset: 7 },
        { kind: "x", data: "0" },
      ]);
      follower[Symbol.dispose]();
    });
  });

  describe("kill", () => {
    test("sends the very signal that was named", async () => {
      for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM"] as const) {
        const name = signal.slice(3);
        const { id, follower } = await stage.ready(
          `trap 'echo got ${name}; exit 4' ${name}; echo ready; while :; do sleep 0.01; done`,
        );
        await stage.backend.kill(id, signal);
        expect((await follower.exit()).exitCode).toBe(4);
        expect(await viewText(stage.backend, id, { kind: "output", from: 0, to: 100 })).toContain(
          `got ${name}`,
        );
      }
    });

    test("of a program that does nothing about it ends it with 128 and its number", async () => {
      for (const [signal, number] of [
        ["SIGTERM", 15],
        ["SIGKILL", 9],
        ["SIGINT", 2],
      ] as const) {
        const { id } = await stage.create({ command: ["sleep", "1000"] });
        await stage.backend.kill(id, signal);
        expect(await stage.ended(id)).toMatchObject({
          ...{ status: "exited", exitCode: 128 + number, exitSignal: signal, exitReason: "signal" },
        });
      }
    });

    test("that comes before the program has begun is not lost", async () => {
      for (let times = 0; times < 30; times++) {
        const { id } = await stage.create({ command: ["sleep", "1000"] });
        await stage.backend.kill(id, "SIGKILL");
        expect(await stage.ended(id)).toMatchObject({ exitSignal: "SIGKILL" });
      }
    });

    test("by SIGSTOP and SIGCONT stops a program and lets it go on", async () => {
      const { id } = await stage.run("while :; do echo tick; sleep 0.01; done");
      using follower = await stage.follow(id);
      await follower.shows(/tick/);
      await stage.backend.kill(id, "SIGSTOP");
      const { outputBytes } = await stage.backend.get(id);
      await stage.backend.kill(id, "SIGCONT");
      await follower.until(
        () => ((follower.next ?? 0) > outputBytes ? true : undefined),
        "output after SIGCONT",
      );
      await stage.backend.remove(id);
    });
  });

  describe("mark", () => {
    test("puts a marker between the output before and after it", async () => {
      const { id, follower } = await stage.quietShell();
      await stage.type(id, "echo one\n");
      await follower.shows(/one\r\n/);
      await stage.backend.mark(id, 'half "way" \u{1F600}');
      await stage.type(id, "echo two; exit\n");
      await follower.exit();
      expect(told(follower)).toMatchObject([
        { kind: "marker", label: 'half "way" \u{1F600}' },
        { kind: "exit" },
      ]);
      const lines = (await viewText(stage.backend, id, { kind: "recording", follow: true }))
        .trimEnd()
        .split("\n");
      const events = lines.slice(1).map((line) => JSON.parse(line).slice(1));
      expect(events.filter(([kind]) => kind !== "o")).toEqual([["m", 'half "way" \u{1F600}']]);
      const marker = events.findIndex(([kind]) => kind === "m");
      const text = (part: string[][]): string => part.map(([, data]) => data).join("");
      expect(text(events.slice(0, marker))).toBe("ready\r\none\r\n");
      expect(text(events.slice(marker + 1))).toBe("two\r\n");
      follower[Symbol.dispose]();
    });
  });
}
