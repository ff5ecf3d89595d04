import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { View } from "../../../src/sessions/backend.ts";
import { viewBytes, viewText } from "../harness/view-bytes.ts";
import { codeOf, type Stage } from "./stage.ts";

const ALL_VIEWS: readonly View[] = [
  { kind: "text", scrollback: false, styles: false },
  { kind: "buffer" },
  { kind: "resync" },
  { kind: "recording", follow: true },
  { kind: "recording", follow: false },
  { kind: "stream", after: 0 },
  { kind: "output", from: 0, to: 10 },
  { kind: "events", from: 0 },
];

export function describeRefusals(stage: Stage): void {
  describe("an unknown id", () => {
    const id = "nobody";
    const size = { cols: 80, rows: 24 };
    test.each<[string, () => Promise<unknown>]>([
      ["get", () => stage.backend.get(id)],
      ["rename", () => stage.backend.rename(id, "x")],
      ["remove", () => stage.backend.remove(id)],
      ["write", () => stage.type(id, "x")],
      ["resize", () => stage.backend.resize(id, size)],
      ["kill", () => stage.backend.kill(id, "SIGTERM")],
      ["mark", () => stage.backend.mark(id, "x")],
      ["subscribe", () => stage.follow(id)],
      ...ALL_VIEWS.map((view): [string, () => Promise<unknown>] => [
        `view ${JSON.stringify(view)}`,
        () => viewBytes(stage.backend, id, view),
      ]),
    ])("is session_not_found for %s", async (_, work) => {
      expect(await codeOf(work())).toBe("session_not_found");
    });
  });

  describe("an ended session", () => {
    let id: string;
    beforeAll(async () => {
      ({ id } = await stage.run("echo done"));
      await stage.ended(id);
    });
    test.each<[string, () => Promise<unknown>]>([
      ["write", () => stage.type(id, "x")],
      ["resize", () => stage.backend.resize(id, { cols: 81, rows: 24 })],
      ["kill", () => stage.backend.kill(id, "SIGTERM")],
      ["mark", () => stage.backend.mark(id, "x")],
    ])("is session_not_running for %s", async (_, work) => {
      expect(await codeOf(work())).toBe("session_not_running");
    });

    test.each(ALL_VIEWS)("has a view $kind", async (view) => {
      expect((await viewBytes(stage.backend, id, view)).length).toBeGreaterThan(0);
    });

    test("has its output, its events and its recording for good", async () => {
      await writeFile(
        join(stage.directory, "cast"),
        await viewBytes(stage.backend, id, { kind: "recording", follow: true }),
      );
      const lines = (await readFile(join(stage.directory, "cast"), "utf8")).trimEnd().split("\n");
      expect(
        lines
          .slice(1)
          .map((line) => JSON.parse(line)[2])
          .join(""),
      ).toBe("done\r\n");
      expect(await viewText(stage.backend, id, { kind: "output", from: 0, to: 6 })).toBe("done\r\n");
    });
  });
}
