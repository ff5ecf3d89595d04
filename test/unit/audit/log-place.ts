// A directory with an audit log in it, its sealed head and key.
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import { AuditFile } from "../../../src/audit/file/audit-file.ts";
import { keptFiles } from "../../../src/audit/file/log-lines.ts";
import { readSealedHead, type SealedHead, sealedHead } from "../../../src/audit/file/sealed-head.ts";
import { type Verification, verifyLog } from "../../../src/audit/file/verifier.ts";
import { auditFiles } from "../../../src/sessions/storage/control-dir.ts";

export class LogPlace implements AsyncDisposable {
  readonly directory: string;
  readonly #remove: () => Promise<void>;
  /** Messages of the log. */
  readonly said: string[] = [];

  private constructor({ path, remove }: Awaited<ReturnType<typeof mkdtempDisposable>>) {
    this.directory = path;
    this.#remove = remove;
  }

  static async make(): Promise<LogPlace> {
    return new LogPlace(await mkdtempDisposable(join(tmpdir(), "ttyhq-audit-")));
  }

  get files() {
    return auditFiles(this.directory);
  }

  get path(): string {
    return this.files.log;
  }

  get head(): SealedHead {
    return sealedHead(this.files, {
      error: (_: object, message: string) => void this.said.push(message),
    });
  }

  open(options: Partial<Parameters<typeof AuditFile.open>[0]> = {}): Promise<AuditFile> {
    const write = (_: object, message: string) => void this.said.push(message);
    const log = { info: write, warn: write, error: write };
    return AuditFile.open({ path: this.path, head: this.head, log, ...options });
  }

  /** One start of a server that writes a line for each user. */
  async write(users: readonly string[], options: Parameters<LogPlace["open"]>[0] = {}): Promise<void> {
    await using audit = await this.open(options);
    for (const user of users) audit.write(loginOf(user));
  }

  async lines(path: string = this.path): Promise<readonly string[]> {
    return (await readFile(path, "utf8")).split("\n").slice(0, -1);
  }

  /** Replaces the lines of the file. */
  async change(change: (lines: string[]) => readonly string[], path: string = this.path): Promise<void> {
    const lines = change([...(await this.lines(path))]);
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
  }

  async verify(): Promise<Verification> {
    const sealed = await readSealedHead(this.files);
    return await verifyLog(await keptFiles(this.path), { sealed, isWhole: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}

export function loginOf(user: string): AuditEntry {
  return { action: "login", result: "ok", user };
}
