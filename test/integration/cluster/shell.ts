import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";

/**
 * Types a sum into a shell and waits for its result, an even number that is not on the screen yet, and for the next
 * prompt.
 */
export async function answers(shell: TerminalClient, sum: number): Promise<void> {
  const type = async (): Promise<true> => {
    await shell.type(`echo $((${sum / 2} * 2))\r`);
    return true;
  };
  // Like a person: repeats refused input, because the connection may just have opened.
  await eventually(type, "the acceptance of a line");
  // Text that was typed before the prompt stands in front of it.
  await shell.shows(new RegExp(`^(\\S*[$#] )?${sum}\\n\\S*[$#] ?$`, "m"));
}
