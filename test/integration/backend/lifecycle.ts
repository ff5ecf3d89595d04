import { describe, expect, test } from "vitest";
import { ServerEvents } from "../harness/server-events.ts";
import { codeOf, type Stage } from "./stage.ts";

export function describeLifecycle(stage: Stage): void {
  describe("create", () => {
    test("answers the record of a running session", async () => {
      const record = await stage.create({ command: "cat", cwd: "/tmp", name: "mine", cols: 100, rows: 30 });
      expect(record).toMatchObject({
        ...{ sessionId: record.id, name: "mine", status: "running", command: ["cat"], outputBytes: 0 },
        ...{ cwd: "/tmp", workingDir: "/tmp", cols: 100, rows: 30, startedAt: record.created },
      });
      expect(record.id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(record.pid).toBeGreaterThan(1);
      expect(Date.now() - Date.parse(record.created)).toBeLessThan(10_000);
      expect(await stage.backend.get(record.id)).toEqual(record);
      await stage.backend.remove(record.id);
    });

    test("takes the id that is asked for, once", async () => {
      const id = `own-${Date.now()}`;
      expect((await stage.create({ id, command: "true" })).id).toBe(id);
      expect(await codeOf(stage.create({ id, command: "true" }))).toBe("session_exists");
      await stage.ended(id);
      expect(await codeOf(stage.create({ id, command: "true" }))).toBe("session_exists");
      await stage.backend.remove(id);
      expect((await stage.create({ id, command: "true" })).id).toBe(id);
    });

    test("of the same id many times at once succeeds once", async () => {
      const id = `race-${Date.now()}`;
      const tries = await Promise.allSettled(
        Array.from({ length: 10 }, () => stage.create({ id, command: "cat" })),
      );
      expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect((await stage.backend.list()).filter((record) => record.id === id)).toHaveLength(1);
    });

    test("refuses what cannot run, and leaves nothing behind", async () => {
      const before = (await stage.backend.list()).length;
      expect(await codeOf(stage.create({ command: "no-such-program" }))).toBe("command_not_found");
      expect(await codeOf(stage.create({ command: "/etc/passwd" }))).toBe("command_not_found");
      expect(await codeOf(stage.create({ command: "true", cwd: "/no/such/directory" }))).toBe("invalid_cwd");
      expect(await codeOf(stage.create({ command: ["true"], args: ["x"] }))).toBe("invalid_request");
      expect(await stage.backend.list()).toHaveLength(before);
    });

    test("reports the end of a program that ends at once, after its start", async () => {
      await using events = ServerEvents.of(stage.backend);
      const ids: string[] = [];
      for (let round = 0; round < 20; round++) ids.push((await stage.run("exit 3")).id);
      for (const id of ids) {
        const exit = await events.first(({ type, sessionId }) => type === "session-exit" && sessionId === id);
        expect(exit.exitCode).toBe(3);
        const types = events.all.filter(({ sessionId }) => sessionId === id).map(({ type }) => type);
        // Other members may change at any time.
        const steps = types.filter((type) => type !== "session-changed");
        expect(steps).toEqual(["session-start", "session-exit"]);
        expect(await stage.backend.get(id)).toMatchObject({
          status: "exited",
          exitCode: 3,
          exitReason: "exit",
        });
      }
    });
  });

  describe("list", () => {
    test("has the newest first", async () => {
      const ids: string[] = [];
      for (let round = 0; round < 20; round++) ids.unshift((await stage.create({ command: "true" })).id);
      expect((await stage.backend.list()).map(({ id }) => id).slice(0, ids.length)).toEqual(ids);
    });
  });

  describe("rename", () => {
    test("changes the name of a running and of an ended session, and tells once", async () => {
      // In a folder without a repository, whose counts may come at any time.
      const { id } = await stage.create({ command: "cat", name: "before", cwd: "/" });
      await using events = ServerEvents.of(stage.backend);
      expect(await stage.backend.rename(id, "after é")).toMatchObject({ id, name: "after é" });
      await stage.backend.remove(id);
      expect((await stage.backend.rename(id, "later")).name).toBe("later");
      await stage.backend.remove(id);
      await events.first(({ type, sessionId }) => type === "session-removed" && sessionId === id);
      const told = events.all.filter(({ type, sessionId }) => type === "session-changed" && sessionId === id);
      expect(told.map(({ sessionName }) => sessionName)).toEqual(["after é", "later"]);
    });
  });

  describe("remove", () => {
    test("ends a running session, then removes it, then knows nothing of it", async () => {
      const { id } = await stage.create({ command: ["sleep", "1000"] });
      expect(await stage.backend.remove(id)).toEqual({ success: true, status: "exited", exitCode: 129 });
      expect(await stage.backend.get(id)).toMatchObject({ status: "exited", exitSignal: "SIGHUP" });
      expect(await stage.backend.remove(id)).toEqual({ success: true, status: "removed" });
      expect(await codeOf(stage.backend.remove(id))).toBe("session_not_found");
      expect((await stage.backend.list()).some((record) => record.id === id)).toBe(false);
    });

    test("of a session that is to be ended only ends it, and answers how it ended", async () => {
      const { id } = await stage.create({ command: ["sleep", "1000"] });
      const ended = { success: true, status: "exited", exitCode: 129 } as const;
      expect(await stage.backend.remove(id, "running")).toEqual(ended);
      expect(await stage.backend.remove(id, "running")).toEqual(ended);
      expect(await stage.backend.get(id)).toMatchObject({ status: "exited", exitCode: 129 });
      await stage.backend.remove(id);
      expect(await codeOf(stage.backend.remove(id, "running"))).toBe("session_not_found");
    });

    test("twice in a row, at once, many times, loses no session and never fails", async () => {
      const ids = await Promise.all(
        Array.from({ length: 30 }, async () => (await stage.create({ command: "cat" })).id),
      );
      const answers = await Promise.all(
        ids.map(async (id) =>
          [await stage.backend.remove(id), await stage.backend.remove(id)].map(({ status }) => status),
        ),
      );
      expect(answers).toEqual(ids.map(() => ["exited", "removed"]));
      // Their ids are free again, and nothing of the old sessions is left.
      for (const id of ids.slice(0, 5)) {
        await stage.create({ id, command: "true" });
        expect(await stage.ended(id)).toMatchObject({ outputBytes: 0, exitCode: 0 });
      }
    });
  });
}
