// Reads recordings like other programs: by the format's description, and with the real `asciinema`.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { z } from "zod";
import { Program } from "./program.ts";

const Header = z.looseObject({
  version: z.literal(2),
  width: z.int().min(1),
  height: z.int().min(1),
  timestamp: z.int(),
  command: z.string(),
  title: z.string(),
  env: z.object({ SHELL: z.string(), TERM: z.string() }),
});
const Event = z.tuple([z.number().min(0), z.enum(["o", "i", "r", "m"]), z.string()]);

export type Asciicast = {
  readonly header: z.infer<typeof Header>;
  readonly events: readonly z.infer<typeof Event>[];
  /** The text of all output events. */
  readonly output: string;
};

/** Throws unless the text is a complete asciicast v2 with ascending times. */
export function parseCast(text: string): Asciicast {
  if (!text.endsWith("\n")) throw new Error(`the last line is torn: ${text.slice(-80)}`);
  const [first = "", ...lines] = text.slice(0, -1).split("\n");
  const events = lines.map((line) => Event.parse(JSON.parse(line)));
  for (const [index, [time]] of events.entries())
    expect(time).toBeGreaterThanOrEqual(events[index - 1]?.[0] ?? 0);
  const output = events.flatMap(([, kind, data]) => (kind === "o" ? [data] : [])).join("");
  return { header: Header.parse(JSON.parse(first)), events, output };
}

/** The output of `asciinema cat` for each recording; it needs a terminal to run. Throws its errors. */
export async function asciinemaCat(recordings: readonly Uint8Array[]): Promise<readonly string[]> {
  return withFiles(recordings, async (directory) => {
    const script =
      "cd $0; export ASCIINEMA_CONFIG_HOME=$0; for f in *.cast; do asciinema cat $f >$f.out || exit 1; done";
    await succeeds(new Program("sh", ["-c", script, directory]));
    return Promise.all(recordings.map((_, index) => readFile(join(directory, `${index}.cast.out`), "utf8")));
  });
}

/** Plays a recording at a thousand times its speed; resolves to the terminal's output. */
export async function asciinemaPlay(recording: Uint8Array): Promise<string> {
  return withFiles([recording], (directory) =>
    succeeds(
      new Program("sh", ["-c", "ASCIINEMA_CONFIG_HOME=$0 asciinema play -s 1000 $0/0.cast", directory]),
    ),
  );
}

async function succeeds(program: Program): Promise<string> {
  await using _program = program;
  const { exitCode } = await program.ended;
  if (exitCode !== 0) throw new Error(`asciinema ended with ${exitCode}: ${program.text}`);
  return program.text;
}

async function withFiles<T>(
  recordings: readonly Uint8Array[],
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-cast-"));
  try {
    await Promise.all(recordings.map((bytes, index) => writeFile(join(directory, `${index}.cast`), bytes)));
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}
