// The server is killed repeatedly; its programs, its recordings and its viewers continue.
import { createHash, randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { HashingViewer } from "./harness/hashing-viewer.ts";
import { ask } from "./harness/http.ts";
import { PacedProgram } from "./harness/paced-program.ts";
import { scaled } from "./harness/scale.ts";
import { TestServer } from "./harness/test-server.ts";

const KILLS = scaled(20);
/** 10 MB of output for each kill. */
const LINES = KILLS * 100_000;
const BYTES_PER_SECOND = 7_000_000;
const VIEWERS = 3;
const END_TIMEOUT_MS = 300_000;

test("kill -9 of the server again and again during a flood of output: no byte is lost or comes twice", {
  timeout: 480_000,
}, async () => {
  await using program = await PacedProgram.prepare(LINES, BYTES_PER_SECOND);
  await using server = await TestServer.start({ asProcess: true });
  const { id, pid } = await server.client().create({ command: program.command });
  const viewers = Array.from({ length: VIEWERS }, () => new HashingViewer(server.url, id));
  using _viewers = {
    [Symbol.dispose]: () => void viewers.forEach((viewer) => void viewer[Symbol.dispose]()),
  };
  program.waitFor(viewers);
  const ends = Promise.all(viewers.map((viewer) => viewer.ended));
  ends.catch(() => undefined);
  for (let kill = 0; kill < KILLS; kill += 1) {
    // At a random moment of the stream: this pause waits for no condition.
    await pause(randomInt(100, 900));
    await server.restart();
  }
  expect((await server.client().get(id)).pid).toBe(pid);
  const came = await withDeadline(ends, END_TIMEOUT_MS, "the end of the stream");
  const { expected } = program;
  expect(came).toEqual(viewers.map(() => expected));
  const journal = createHash("sha256");
  journal.update((await ask(server.url, `/api/sessions/${id}/output`)).bytes);
  expect(journal.digest("hex")).toBe(expected.sha256);
});
