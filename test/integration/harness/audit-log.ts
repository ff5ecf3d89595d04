// The audit log of a server, read line by line.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { readJsonFile } from "../../../src/lib/fs/atomic-file.ts";

const Line = z.strictObject({
  seq: z.int().positive(),
  prev: z.string().regex(/^[0-9a-f]{64}$/),
  time: z.iso.datetime(),
  action: z.string(),
  result: z.enum(["ok", "refused", "failed"]),
  user: z.string().optional(),
  method: z.string().optional(),
  address: z.string().optional(),
  requestId: z.string().optional(),
  session: z.string().optional(),
  remote: z.string().optional(),
  details: z.record(z.string(), z.unknown()).optional(),
});
const SealedHead = z.object({ seq: z.int() });
export type Line = z.infer<typeof Line>;

export class AuditLog {
  readonly path: string;
  readonly #controlDir: string;

  constructor(controlDir: string, path: string = join(controlDir, "audit.log")) {
    this.#controlDir = controlDir;
    this.path = path;
  }

  text(): Promise<string> {
    return readFile(this.path, "utf8");
  }

  /** Throws if a line is torn or has unexpected members. */
  async lines(): Promise<readonly Line[]> {
    return parsed(await this.text());
  }

  /** Like `lines`, but ignores an unfinished last line. */
  async wholeLines(): Promise<readonly Line[]> {
    const text = await this.text();
    return parsed(text.slice(0, text.lastIndexOf("\n") + 1));
  }

  /** The first past or future line that matches `isIt`. */
  async line(isIt: (line: Line) => boolean, what: string): Promise<Line> {
    return await eventually(async () => (await this.wholeLines()).find(isIt), `a line of ${what}`);
  }

  /**
   * Resolves when the sealed head of the log has its last line: a server that is killed before does not miss that line.
   */
  async sealed(): Promise<void> {
    const head = join(this.#controlDir, "audit-head.json");
    await eventually(async () => {
      const sealed = await readJsonFile(head, (value) => SealedHead.parse(value));
      return (await this.wholeLines()).at(-1)?.seq === sealed?.seq || undefined;
    }, "the seal of the last line");
  }

  /** The first line of that action. */
  of(action: string, result = "ok"): Promise<Line> {
    return this.line((line) => line.action === action && line.result === result, `${action} ${result}`);
  }
}

function parsed(text: string): readonly Line[] {
  const lines = text.split("\n");
  if (lines.pop() !== "") throw new Error("the last line has no end");
  return lines.map((line) => Line.parse(JSON.parse(line)));
}
