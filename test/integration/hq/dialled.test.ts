// A remote that dials its HQ, over a network that fails. TTYHQ_TEST_DIAL=1 runs every other file of this folder with
// such remotes.
import { expect, test } from "vitest";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { CutProxy } from "../harness/cut-proxy.ts";
import { HashingViewer } from "../harness/hashing-viewer.ts";
import { PacedProgram } from "../harness/paced-program.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { TestFleet } from "../harness/test-fleet.ts";

/** 100 bytes each: more than is streamed between the cuts. */
const LINES = 200_000;
const BYTES_PER_SECOND = 6_000_000;
const { Stdout } = SubscribeFlag;

test("viewers get each byte once while the network is cut and the remote and the HQ are restarted", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, dials: true, remotes: 0 });
  await using network = await CutProxy.open(Number(new URL(fleet.hq.url).port));
  const remote = await fleet.add("worker", { args: ["--hq-url", network.url] });
  await fleet.joined("worker");
  await using program = await PacedProgram.prepare(LINES, BYTES_PER_SECOND);
  const { id } = await fleet.create("worker", { command: program.command });
  await using stack = new AsyncDisposableStack();
  const viewers = [1, 2].map(() => stack.use(new HashingViewer(fleet.hq.url, id)));
  program.waitFor(viewers);
  const streamed = async (bytes: number): Promise<void> => {
    const marks = viewers.map((viewer) => viewer.reached(viewer.next + bytes));
    await withDeadline(Promise.all(marks), PATIENCE_MS, "the stream");
  };
  await streamed(1_000_000);
  network.cut();
  // There is no other connection to the remote.
  const refused = await fleet.ask("/api/remotes/worker/proxy/api/sessions");
  expect([refused.status, refused.json.code]).toEqual([502, "remote_unreachable"]);
  network.mend();
  await streamed(1_000_000);
  await remote.restart();
  await streamed(1_000_000);
  await fleet.hq.restart();
  const ends = await withDeadline(Promise.all(viewers.map(({ ended }) => ended)), PATIENCE_MS, "the end");
  const { expected } = program;
  expect(ends).toEqual(viewers.map(() => expected));
});

test("a shell's echo is shown while another session floods the tunnel and a download is stalled", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, dials: true });
  const flood = await fleet.create("worker-1", { command: ["yes"] });
  const shell = await fleet.create("worker-1", { command: ["sh", "-c", "stty -echo; echo ready; cat"] });
  await using flooded = await RawSocket.open(fleet.hq.url);
  flooded.subscribe(flood.id, { flags: Stdout });
  const path = `/api/remotes/worker-1/proxy/api/sessions/${flood.id}/stream`;
  const stalled = await fetch(`${fleet.hq.url}${path}`);
  await using typist = await RawSocket.open(fleet.hq.url);
  typist.subscribe(shell.id, { flags: Stdout });
  await typist.shows(/ready\r\n/);
  for (let round = 0; round < 10; round += 1) {
    typist.type(shell.id, `line ${round}\n`);
    await typist.shows(new RegExp(`line ${round}\r\n`));
  }
  await stalled.body?.cancel();
});
