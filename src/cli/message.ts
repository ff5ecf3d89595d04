import { printable } from "./printable.ts";
import type { OutputStream } from "./process-context.ts";

/** Tells a person what happened, under this program's name; with more lines where it has them. */
export function writeMessage(stderr: OutputStream, message: string): void {
  const [first = "", ...more] = message.split("\n");
  stderr.write([`ttyhq: ${printable(first)}`, ...more.map(printable), ""].join("\n"));
}
