import { describe, expect, test } from "vitest";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { ServerEvents } from "../harness/server-events.ts";
import { viewBytes, viewText } from "../harness/view-bytes.ts";
import type { Stage } from "./stage.ts";

const COUNT_TO = 300_000;
const counted = `ready\r\n${Array.from({ length: COUNT_TO }, (_, index) => `${index + 1}\r\n`).join("")}`;

export function describeFollowing(stage: Stage): void {
  describe("subscribe", () => {
    test("begins at the end of the output, and what came before is there to be read", async () => {
      const { id } = await stage.run(`stty -echo; echo ready; read go; seq 1 ${COUNT_TO}; read go`);
      const first = await stage.follow(id);
      await stage.shows(first, /ready/);
      first[Symbol.dispose]();
      await stage.type(id, "\n");
      for (let round = 0; round < 20; round++) {
        using follower = await stage.follow(id);
        const before = await viewBytes(stage.backend, id, { kind: "output", from: 0, to: follower.offset });
        expect(before).toHaveLength(follower.offset);
        if (follower.offset < 1_000_000) await follower.until(() => follower.next, "output");
        expect(counted.startsWith(new TextDecoder().decode(before) + follower.text)).toBe(true);
      }
      using follower = await stage.follow(id);
      await follower.until(
        () => ((follower.next ?? follower.offset) === counted.length ? true : undefined),
        "all",
      );
      const before = await viewText(stage.backend, id, { kind: "output", from: 0, to: follower.offset });
      expect(before + follower.text === counted).toBe(true);
      await stage.type(id, "\n");
      expect(await follower.exit()).toMatchObject({ sessionId: id, exitCode: 0 });
    });

    test("tells of the exit after the last byte, and only of the exit of a session that is over", async () => {
      const { id } = await stage.run("seq 1 20000; exit 7");
      using follower = await stage.follow(id);
      expect(await follower.exit()).toEqual({
        kind: "exit",
        type: "session-exit",
        sessionId: id,
        exitCode: 7,
      });
      const { outputBytes } = await stage.backend.get(id);
      expect(follower.next ?? follower.offset).toBe(outputBytes);
      expect(outputBytes).toBe(128_894);
      follower[Symbol.dispose]();
      using late = await stage.follow(id);
      expect(late.offset).toBe(outputBytes);
      expect(await late.exit()).toMatchObject({ exitCode: 7 });
      expect(late.events).toHaveLength(1);
      expect(late.next).toBeUndefined();
    });

    test("that was disposed of delivers nothing more", async () => {
      const { id, follower } = await stage.quietShell();
      follower[Symbol.dispose]();
      const before = follower.next;
      await stage.type(id, "echo more\n");
      using again = await stage.follow(id);
      await stage.shows(again, /more/);
      expect(follower.next).toBe(before);
      await stage.backend.remove(id);
    });

    test("delivers a title where the program sets it", async () => {
      const { id, follower } = await stage.quietShell();
      await stage.type(id, "printf 'before\\033]0;new title\\007after'\n");
      expect(await follower.event("title")).toEqual({ kind: "title", title: "new title" });
      expect((await stage.backend.get(id)).title).toBe("new title");
      await stage.backend.remove(id);
      follower[Symbol.dispose]();
    });
  });

  describe("watch", () => {
    test("tells what happens to sessions until it is disposed of", async () => {
      await using events = ServerEvents.of(stage.backend);
      const { id } = await stage.run("printf '\\007'; read line; exit 9");
      await events.first(({ type: kind, sessionId }) => kind === "bell" && sessionId === id);
      await stage.type(id, "\n");
      await stage.ended(id);
      await stage.backend.remove(id);
      const removed = (event: ServerEvent): boolean =>
        event.type === "session-removed" && event.sessionId === id;
      await events.first(removed);
      // Other members may change at any time.
      const own = events.all.filter(({ type, sessionId }) => sessionId === id && type !== "session-changed");
      expect(own.map(({ type: kind }) => kind)).toEqual([
        "session-start",
        "bell",
        "session-exit",
        "session-removed",
      ]);
      expect(own.map(({ exitCode }) => exitCode)).toEqual([undefined, undefined, 9, 9]);
      for (const { timestamp, sessionName } of own) {
        expect(new Date(timestamp).toISOString()).toBe(timestamp);
        expect(sessionName).toMatch(/^sh \(/);
      }
      const count = events.all.length;
      await events[Symbol.asyncDispose]();
      await using others = ServerEvents.of(stage.backend);
      const { id: next } = await stage.create({ command: "true" });
      await others.first(({ sessionId }) => sessionId === next);
      expect(events.all).toHaveLength(count);
    });
  });
}
