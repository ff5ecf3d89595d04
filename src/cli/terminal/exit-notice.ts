import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { ExitCode, signalExitCode } from "../exit-code.ts";
import { printable } from "../printable.ts";
import type { OutputStream } from "../process-context.ts";
import { signalNumber } from "./signals.ts";
import type { AttachmentEnd } from "./terminal-attachment.ts";

/** Says how to come back to a session that goes on, and gives the command's exit code: the program's own where it ended. */
export function exitNotice(
  end: AttachmentEnd,
  { id, name }: Pick<SessionRecord, "id" | "name">,
  stderr: OutputStream,
): number {
  if (end.kind === "exited") return end.exitCode;
  stderr.write(`\r\n[${printable(name)} goes on; back to it with: ttyhq attach ${id}]\n`);
  return end.kind === "detached" ? ExitCode.Ok : signalExitCode(signalNumber(end.signal));
}
