// Recordings (contract 3), read by the format's description and by the real asciinema.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { asciinemaCat, asciinemaPlay, parseCast } from "./harness/asciicast.ts";
import { Follower } from "./harness/follower.ts";
import { Rest } from "./harness/rest.ts";
import { TestServer } from "./harness/test-server.ts";

const MAX_LIVE_RECORDINGS = 20;

let server: TestServer;
let rest: Rest;

beforeAll(async () => {
  server = await TestServer.start();
  rest = new Rest(server);
});
afterAll(() => server[Symbol.asyncDispose]());

async function recordingOf(id: string, query = ""): Promise<Uint8Array> {
  const answer = await rest.get(`/api/sessions/${id}/recording${query}`);
  expect(answer.status).toBe(200);
  return answer.bytes;
}

async function castOf(id: string, query = "") {
  return parseCast(new TextDecoder().decode(await recordingOf(id, query)));
}

/** Types a line at the session. */
async function enter(id: string, line: string): Promise<void> {
  expect((await rest.post(`/api/sessions/${id}/input`, { text: `${line}\n` })).status).toBe(200);
}

describe("a recording", () => {
  test("is one that asciinema takes at any instant of the session's life", async () => {
    const colours =
      "i=0; while [ $i -lt 4000 ]; do printf '\\033[3%dm%d \u65e5\u672c \u{1F600}\\033[0m\\r\\n' $((i%8)) $i; i=$((i+1)); done";
    const { id } = await rest.run(`${colours}; read line; exit 3`);
    using socket = server.connect();
    using follower = Follower.attach(socket, id);
    const recordings: Uint8Array[] = [];
    // In the middle of the output.
    while (recordings.length < MAX_LIVE_RECORDINGS && !follower.text.includes("3999 ")) {
      recordings.push(await recordingOf(id, "?follow=0"));
    }
    await follower.shows(/3999 /);
    await enter(id, "");
    await follower.exit();
    recordings.push(await recordingOf(id));
    const whole = follower.text;
    for (const [index, text] of (await asciinemaCat(recordings)).entries()) {
      const { output } = parseCast(new TextDecoder().decode(recordings[index]));
      expect(text).toBe(output);
      expect(whole.startsWith(output)).toBe(true);
    }
    expect(parseCast(new TextDecoder().decode(recordings.at(-1))).output).toBe(whole);
  });

  test("has a character when all of it has come, and what came of it at the end", async () => {
    const { id } = await rest.run("stty -echo; printf 'a\\303'; read line; printf '\\251b\\303'; read line");
    const { output } = await eventually(async () => {
      const cast = await castOf(id, "?follow=0");
      return cast.output === "" ? undefined : cast;
    }, "what was written");
    expect(output).toBe("a");
    await enter(id, "");
    await eventually(async () => (await castOf(id, "?follow=0")).output === "aéb" || undefined, "the rest");
    await enter(id, "");
    await rest.ended(id);
    expect((await castOf(id)).output).toBe("aéb\ufffd");
  });

  test("is played by asciinema", async () => {
    const { id } = await rest.run("echo one; echo two");
    await rest.ended(id);
    expect(await asciinemaPlay(await recordingOf(id))).toContain("one\r\ntwo\r\n");
  });

  test("of a program that wrote nothing is one too, running or ended", async () => {
    const { id } = await rest.create({ command: "cat", name: 'a "name" \u65e5', cols: 100, rows: 30 });
    const live = await recordingOf(id, "?follow=0");
    await rest.send("DELETE", `/api/sessions/${id}`);
    const ended = await recordingOf(id);
    expect(await asciinemaCat([live, ended])).toEqual(["", ""]);
    const { header, events } = parseCast(new TextDecoder().decode(ended));
    expect(header).toMatchObject({
      width: 100,
      height: 30,
      command: "cat",
      title: 'a "name" \u65e5',
      env: { TERM: "xterm-256color" },
    });
    expect(Math.abs(header.timestamp * 1000 - Date.now())).toBeLessThan(60_000);
    expect(events).toEqual([]);
  });

  test("has resizes and markers between what was written before and after them", async () => {
    const { id } = await rest.run("stty -echo; echo ready; while read -r line; do echo $line; done");
    await rest.shows(id, /ready/);
    await enter(id, "a");
    await rest.shows(id, /a\r\n/);
    await rest.post(`/api/sessions/${id}/resize`, { cols: 100, rows: 40 });
    await enter(id, "b");
    await rest.shows(id, /b\r\n/);
    await rest.post(`/api/sessions/${id}/markers`, { label: 'chapter\n"2"' });
    await rest.post(`/api/sessions/${id}/resize`, { cols: 100, rows: 41 });
    await rest.post(`/api/sessions/${id}/resize`, { cols: 101, rows: 41 });
    await enter(id, "c");
    await rest.shows(id, /c\r\n/);
    await rest.send("DELETE", `/api/sessions/${id}`);
    const { header, events } = await castOf(id);
    expect(header).toMatchObject({ width: 80, height: 24 });
    const merged = events.reduce<string[][]>((all, [, kind, data]) => {
      const last = all.at(-1);
      if (kind === "o" && last?.[0] === "o") last[1] += data;
      else all.push([kind, data]);
      return all;
    }, []);
    expect(merged).toEqual([
      ["o", "ready\r\na\r\n"],
      ["r", "100x40"],
      ["o", "b\r\n"],
      ["m", 'chapter\n"2"'],
      ["r", "100x41"],
      ["r", "101x41"],
      ["o", "c\r\n"],
    ]);
    expect(await asciinemaCat([await recordingOf(id)])).toEqual(["ready\r\na\r\nb\r\nc\r\n"]);
  });

  test("has no input unless that was asked for", async () => {
    const { id } = await rest.run("stty -echo; echo ready; read secret; exit 0");
    await rest.shows(id, /ready/);
    await enter(id, "hunter2");
    await rest.ended(id);
    expect(new TextDecoder().decode(await recordingOf(id))).not.toContain("hunter2");
    await using recorder = await TestServer.start({ args: ["--no-auth", "--record-input"] });
    const other = new Rest(recorder);
    const { id: recorded } = await other.run("stty -echo; echo ready; read line; exit 0");
    await other.shows(recorded, /ready/);
    await other.post(`/api/sessions/${recorded}/input`, { text: "typed \u65e5\n" });
    await other.ended(recorded);
    const { text } = await other.get(`/api/sessions/${recorded}/recording`);
    expect(
      parseCast(text)
        .events.filter(([, kind]) => kind === "i")
        .map(([, , data]) => data),
    ).toEqual(["typed \u65e5\n"]);
  });
});

describe("a character", () => {
  const text = "a\u00e9\u65e5\u{1F600}z";
  const bytes = new TextEncoder().encode(text);
  const octal = (part: Uint8Array): string =>
    [...part].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");

  /** Writes the parts one by one, each after the previous one has arrived. */
  async function written(parts: readonly Uint8Array[]): Promise<string> {
    const prints = parts.map((part) => `printf '${octal(part)}'; read go;`).join(" ");
    const { id } = await rest.run(`stty -echo; ${prints}`);
    using socket = server.connect();
    using follower = Follower.attach(socket, id);
    for (let part = 0, end = 0; part < parts.length; part++) {
      end += parts[part]?.length ?? 0;
      await follower.until(() => (follower.next === end ? true : undefined), `byte ${end}`);
      await enter(id, "");
    }
    await follower.exit();
    return id;
  }

  test("that is split over two writes, at any byte, is whole in the recording", async () => {
    await Promise.all(
      Array.from({ length: bytes.length - 1 }, async (_, index) => {
        const id = await written([bytes.subarray(0, index + 1), bytes.subarray(index + 1)]);
        const { events, output } = await castOf(id);
        expect(output).toBe(text);
        expect(events.some(([, , data]) => data.includes("\u{FFFD}"))).toBe(false);
        expect((await rest.get(`/api/sessions/${id}/output`)).bytes).toEqual(bytes);
      }),
    );
  });

  test("that comes a byte at a time is whole, and what is none is U+FFFD there and itself in the output", async () => {
    const broken = Uint8Array.of(...bytes, 0xff, 0xe6, 0x97, 0x41, 0xc3, ...bytes, 0xf0, 0x9f);
    const id = await written([...broken].map((byte) => Uint8Array.of(byte)));
    const { events, output } = await castOf(id);
    expect(output).toBe(new TextDecoder().decode(broken));
    for (const [, , data] of events) expect(data.isWellFormed()).toBe(true);
    expect((await rest.get(`/api/sessions/${id}/output`)).bytes).toEqual(broken);
    expect(await asciinemaCat([await recordingOf(id)])).toEqual([output]);
  });
});
