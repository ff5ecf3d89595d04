import type { TerminalClient } from "../../../src/testing/terminal-client.ts";

/** Types a sum into a shell and waits for its result, an even number that is not there yet: both ways are open. */
export async function answers(shell: TerminalClient, sum: number): Promise<void> {
  await shell.type(`echo $((${sum / 2} * 2))\r`);
  // What was typed before the shell asked for it stands in front of its prompt.
  await shell.shows(new RegExp(`^(\\S*\\$ )?${sum}$`, "m"));
}
