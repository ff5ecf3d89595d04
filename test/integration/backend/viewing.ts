import { beforeAll, describe, expect, test } from "vitest";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { decodeSnapshot } from "../../../src/web/previews/decode-snapshot.ts";
import { viewBytes, viewText } from "../harness/view-bytes.ts";
import type { Stage } from "./stage.ts";

export function describeViewing(stage: Stage): void {
  describe("view", () => {
    let id: string;
    const script =
      "seq 1 30; printf '\\033]2;a title\\007\\033[1;31mred\\033[0m plain \\346\\227\\245'; cat >/dev/null";
    beforeAll(async () => {
      ({ id } = await stage.run(script));
      using follower = await stage.follow(id);
      await stage.shows(follower, /\u65e5/);
    });

    test("text is the screen, with scrollback and styles where asked for", async () => {
      const text = await viewText(stage.backend, id, { kind: "text", scrollback: false, styles: false });
      expect(text.split("\n").filter((line) => line !== "")).toEqual([
        ...Array.from({ length: 23 }, (_, index) => `${index + 8}`),
        "red plain \u65e5",
      ]);
      const all = await viewText(stage.backend, id, { kind: "text", scrollback: true, styles: false });
      expect(all.split("\n").slice(0, 3)).toEqual(["1", "2", "3"]);
      expect(await viewText(stage.backend, id, { kind: "text", scrollback: false, styles: true })).toContain(
        '[style fg="1" bold]red[/style] plain \u65e5',
      );
    });

    test("buffer is a snapshot of the screen", async () => {
      const snapshot = decodeSnapshot(await viewBytes(stage.backend, id, { kind: "buffer" }));
      expect(snapshot.cols).toBe(80);
      const last = snapshot.rows
        .at(-1)
        ?.map(({ text }) => text)
        .join("");
      expect(last).toBe("red plain \u65e5");
    });

    test("resync draws the screen at the end of the output", async () => {
      const { offset, size, bytes } = decodeResync(await viewBytes(stage.backend, id, { kind: "resync" }));
      expect(offset).toBe((await stage.backend.get(id)).outputBytes);
      expect(size).toEqual({ cols: 80, rows: 24 });
      expect(new TextDecoder().decode(bytes)).toContain("plain \u65e5");
    });

    test("recording is an asciicast, up to now or up to the end", async () => {
      const lines = (await viewText(stage.backend, id, { kind: "recording", follow: false }))
        .trimEnd()
        .split("\n");
      expect(JSON.parse(lines[0] ?? "")).toMatchObject({
        version: 2,
        width: 80,
        height: 24,
        env: { TERM: "xterm-256color" },
      });
      const output = lines
        .slice(1)
        .map((line) => JSON.parse(line)[2])
        .join("");
      expect(output).toMatch(/^1\r\n2\r\n[\s\S]*plain \u65e5$/);
    });

    test("output is any range of the raw bytes", async () => {
      const { outputBytes } = await stage.backend.get(id);
      const all = await viewBytes(stage.backend, id, { kind: "output", from: 0, to: outputBytes });
      expect(all).toHaveLength(outputBytes);
      for (const [from, to] of [
        [0, 0],
        [0, 1],
        [5, 50],
        [outputBytes - 1, outputBytes],
        [outputBytes, outputBytes],
      ] as const) {
        const {
          length,
          body,
          type: mediaType,
        } = await stage.backend.view(id, { kind: "output", from, to }, new AbortController().signal);
        const pieces = await Array.fromAsync(body);
        expect(Buffer.concat(pieces)).toEqual(Buffer.from(all.subarray(from, to)));
        expect([length, mediaType]).toEqual([to - from, "application/octet-stream"]);
      }
      expect(
        await viewBytes(stage.backend, id, { kind: "output", from: outputBytes - 2, to: outputBytes + 100 }),
      ).toHaveLength(2);
    });

    test("stream is the recording as events with numbers, resumed after any of them", async () => {
      const { id: other } = await stage.run("echo one; sleep 0.02; echo two; exit 5");
      await stage.ended(other);
      const stream = await viewText(stage.backend, other, { kind: "stream", after: 0 });
      const events = [...stream.matchAll(/id: (\d+)\ndata: (.*)\n\n/g)].map(([, number, data]) => ({
        number: Number(number),
        data: JSON.parse(data ?? ""),
      }));
      expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
      expect(events[0]?.data).toMatchObject({ version: 2 });
      expect(
        events
          .slice(1, -1)
          .map(({ data }) => data[2])
          .join(""),
      ).toBe("one\r\ntwo\r\n");
      expect(events.at(-1)?.data).toEqual(["exit", 5, other]);
      for (const after of events.keys()) {
        const rest = await viewText(stage.backend, other, { kind: "stream", after });
        expect([...rest.matchAll(/id: (\d+)\n/g)].map(([, number]) => Number(number))).toEqual(
          events.slice(after).map(({ number }) => number),
        );
      }
    });

    test("of the whole recording and the stream goes on until the session ends, and misses nothing", async () => {
      const { id: other, follower } = await stage.quietShell();
      const recording = viewText(stage.backend, other, { kind: "recording", follow: true });
      const stream = viewText(stage.backend, other, { kind: "stream", after: 0 });
      for (let round = 0; round < 50; round++) {
        await stage.type(other, `echo line ${round}\n`);
        await follower.shows(new RegExp(`line ${round}\r\n`));
      }
      await stage.type(other, "exit 2\n");
      await follower.exit();
      const expected = `ready\r\n${Array.from({ length: 50 }, (_, round) => `line ${round}\r\n`).join("")}`;
      const lines = (await recording).trimEnd().split("\n").slice(1);
      expect(lines.map((line) => JSON.parse(line)[2]).join("")).toBe(expected);
      expect(await stream).toMatch(/data: \["exit",2,/);
      follower[Symbol.dispose]();
    });

    test("shows a line to whoever follows the recording before the next one is written", async () => {
      const { id: other, follower } = await stage.quietShell();
      const abort = new AbortController();
      const { body } = await stage.backend.view(other, { kind: "recording", follow: true }, abort.signal);
      const decoder = new TextDecoder();
      const pieces = body[Symbol.asyncIterator]();
      let seen = "";
      for (let round = 0; round < 100; round++) {
        await stage.type(other, `echo line ${round}.\n`);
        while (!seen.includes(`line ${round}.`)) {
          const { value, done } = await pieces.next();
          if (done === true) throw new Error("the recording ended");
          seen += decoder.decode(value, { stream: true });
        }
      }
      abort.abort();
      await pieces.return?.();
      follower[Symbol.dispose]();
      await stage.backend.remove(other);
    });

    test("that nobody wants any more ends at once", async () => {
      for (const view of [
        { kind: "recording", follow: true },
        { kind: "stream", after: 0 },
      ] as const) {
        const abort = new AbortController();
        const { body } = await stage.backend.view(id, view, abort.signal);
        const pieces = body[Symbol.asyncIterator]();
        await pieces.next();
        const rest = (async () => {
          while ((await pieces.next()).done !== true);
        })();
        abort.abort();
        await rest.catch(() => undefined);
      }
    });
  });
}
