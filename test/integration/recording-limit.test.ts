// A recording that stops at its size limit (contract 3).
import { describe, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { parseCast } from "./harness/asciicast.ts";
import { Follower } from "./harness/follower.ts";
import { Rest } from "./harness/rest.ts";
import { OPEN, TestServer } from "./harness/test-server.ts";

const MIB = 1024 * 1024;

/** Numbered lines, `count` of them, of 8 bytes each. */
const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `${1_000_000 + index}\n`).join("");
const printLines = (count: number): string => `seq 1000000 ${1_000_000 + count - 1}`;

/** Prints that many lines after a line of input, and a last line at the end. */
const QUIET = "stty raw -echo; printf ready";

describe("at the size limit", () => {
  const start = (): Promise<TestServer> =>
    TestServer.start({ args: [...OPEN, "--max-recording-size", "1MiB"] });

  test("a recording stops with a marker, and the session, its viewers and their resuming go on", async () => {
    await using server = await start();
    const rest = new Rest(server);
    const count = (3 * MIB) / 8;
    const { id } = await rest.run(
      `${QUIET}; head -c 1 >/dev/null; ${printLines(count)}; head -c 1 >/dev/null; exit 5`,
    );
    using socket = server.connect();
    using live = Follower.attach(socket, id);
    await live.shows(/ready/);
    await rest.post(`/api/sessions/${id}/input`, { text: "x" });
    const expected = `ready${lines(count)}`;
    await live.until(() => (live.next === expected.length ? true : undefined), "all of it at a viewer");
    expect(live.text === expected).toBe(true);
    expect(live.resyncs).toEqual([]);

    // Output beyond the recording is in memory: resuming at any byte misses none.
    for (const from of [0, 10, MIB - 1, MIB, MIB + 1, 2 * MIB, expected.length - 1]) {
      using other = server.connect();
      using resumed = Follower.attach(other, id, from);
      await resumed.until(() => (resumed.next === expected.length ? true : undefined), `all from ${from} on`);
      expect(resumed.text === expected.slice(from)).toBe(true);
    }
    expect((await rest.get(`/api/sessions/${id}/output`)).text === expected).toBe(true);
    const range = await rest.get(`/api/sessions/${id}/output`, { range: `bytes=${MIB - 10}-${MIB + 9}` });
    expect([range.status, range.text]).toEqual([206, expected.slice(MIB - 10, MIB + 10)]);
    const drawn = (await rest.get(`/api/sessions/${id}/text`)).text.replaceAll(/\s/g, "");
    expect(drawn).toContain(`${1_000_000 + count - 1}`);

    await rest.post(`/api/sessions/${id}/input`, { text: "x" });
    expect(await rest.ended(id)).toMatchObject({ exitCode: 5, outputBytes: expected.length });
    const cast = parseCast((await rest.get(`/api/sessions/${id}/recording`)).text);
    expect(cast.output === expected.slice(0, MIB)).toBe(true);
    expect(cast.events.at(-1)?.slice(1)).toEqual(["m", "recording stopped: the size limit is reached"]);
  });

  test("output that is no longer held is drawn for a viewer, and refused as bytes", async () => {
    await using server = await start();
    const rest = new Rest(server);
    const count = (12 * MIB) / 8;
    const { id } = await rest.run(`${QUIET}; ${printLines(count)}; printf done; head -c 1 >/dev/null`);
    const outputBytes = 12 * MIB + 9;
    await eventually(
      async () => ((await rest.record(id)).outputBytes === outputBytes ? true : undefined),
      "the end of the output",
    );
    const check = async (): Promise<void> => {
      using socket = server.connect();
      using late = Follower.attach(socket, id);
      await late.until(() => (late.next === outputBytes ? true : undefined), "the end of the output");
      expect(late.resyncs.map(({ offset }) => offset)).toEqual([outputBytes]);
      const head = `ready${lines(count)}`.slice(0, late.bytes.length);
      expect(late.text === head).toBe(true);
      const gone = await rest.get(`/api/sessions/${id}/output?from=${2 * MIB}&to=${3 * MIB}`);
      expect([gone.status, gone.headers["content-range"]]).toEqual([416, `bytes */${outputBytes}`]);
      const partly = await rest.get(`/api/sessions/${id}/output`, { range: `bytes=${MIB - 5}-${MIB + 4}` });
      expect([partly.status, partly.headers["content-range"]]).toEqual([
        206,
        `bytes ${MIB - 5}-${MIB - 1}/${outputBytes}`,
      ]);
      expect(partly.text).toBe(head.length >= MIB ? head.slice(MIB - 5, MIB) : partly.text);
    };
    await check();
    // The start of the drawn part, and the wrapping of its lines, are unknown.
    const drawn = (await rest.get(`/api/sessions/${id}/text`)).text.replaceAll(/\s/g, "");
    expect(drawn).toContain(`${1_000_000 + count - 1}`);
    // Another host knows only the recording.
    await server.killHost();
    const record = await eventually(async () => {
      const answer = await rest.get(`/api/sessions/${id}`);
      return answer.status === 200 && Object(answer.json).status === "exited"
        ? Object(answer.json)
        : undefined;
    }, "the lost session");
    expect(record).toMatchObject({ exitReason: "host_lost", outputBytes: MIB });
  });

  test("is kept by records as well: a program that writes a byte at a time does not fill the disk with them", async () => {
    await using server = await TestServer.start({ args: [...OPEN, "--max-recording-size", "4KiB"] });
    const rest = new Rest(server);
    const { id } = await rest.run("stty raw -echo; printf .; while head -c 1; do :; done");
    using socket = server.connect();
    using follower = Follower.attach(socket, id);
    // Earlier input would be echoed as well.
    await follower.until(() => (follower.next === 1 ? true : undefined), "the program");
    for (let byte = 1; byte <= 400; byte++) {
      await rest.post(`/api/sessions/${id}/input`, { text: "x" });
      await follower.until(() => (follower.next === byte + 1 ? true : undefined), `byte ${byte}`);
    }
    const { events } = parseCast((await rest.get(`/api/sessions/${id}/recording?follow=0`)).text);
    expect(events.length).toBeLessThan(260);
    expect(events.at(-1)?.slice(1)).toEqual(["m", "recording stopped: the size limit is reached"]);
    expect((await rest.get(`/api/sessions/${id}/output`)).text).toBe(`.${"x".repeat(400)}`);
  });
});
