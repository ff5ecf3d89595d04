// A session that prints lines on request, on a disk that the test manipulates.
import { expect } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { Follower } from "./follower.ts";
import { Rest } from "./rest.ts";
import { TestServer } from "./test-server.ts";

export const LINES_A_MIB = (1024 * 1024) / 8;

/** For each line of input with a number, prints that many lines of 8 bytes; ends with 6 at its end. */
const PRINTER =
  "stty -echo -onlcr; printf ready; while read count; do seq 1000000 $((999999 + count)); done; exit 6";
const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `${1_000_000 + index}\n`).join("");

/** A server on a disk of its own, with a printing session and a viewer. */
export async function startPrinter(disk: { readonly path: string }) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await TestServer.start({ asProcess: true, directory: disk.path }));
  const rest = new Rest(server);
  const { id } = await rest.run(PRINTER);
  const live = stack.use(Follower.attach(stack.use(server.connect()), id));
  await live.shows(/ready/);
  let printed = "ready";
  const owned = stack.move();
  return {
    ...{ server, rest, id, live },
    /** Everything that was printed. */
    get printed(): string {
      return printed;
    },
    /** Prints that many lines, and waits until the viewer has them. */
    async print(count: number): Promise<void> {
      printed += lines(count);
      const { length } = printed;
      await rest.post(`/api/sessions/${id}/input`, { text: `${count}\n` });
      await live.until(() => (live.next === length ? true : undefined), `${length} bytes`);
      expect(live.text === printed).toBe(true);
      expect(live.resyncs).toEqual([]);
    },
    /** Resolves when the session's record has this state of its recording. */
    recording: (state: SessionRecord["recording"]): Promise<SessionRecord> =>
      eventually(
        async () => {
          const record = await rest.record(id);
          return record.recording === state ? record : undefined;
        },
        `a recording that is ${state ?? "written"}`,
      ),
    end: async (): Promise<SessionRecord> => {
      await rest.post(`/api/sessions/${id}/input`, { text: "\u0004" });
      return rest.ended(id);
    },
    /** The session host's log lines about its disk. */
    told: async (): Promise<string[]> => {
      const whole = (await server.hostLog()).split("\n").slice(0, -1);
      const entries = whole.filter((line) => line.includes('"disk '));
      return entries.map((line) => JSON.parse(line).message);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
