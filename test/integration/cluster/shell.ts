import type { TerminalClient } from "../../../packages/testing/src/terminal-client.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";

/** Types a sum into a shell and waits for its result, an even number that is not there yet, and for the next prompt. */
export async function answers(shell: TerminalClient, sum: number): Promise<void> {
  const type = async (): Promise<true> => {
    await shell.type(`echo $((${sum / 2} * 2))\r`);
    return true;
  };
  // As a person does: again, when it is refused because the way is only just open.
  await eventually(type, "the acceptance of a line");
  // What was typed before the shell asked for it stands in front of its prompt.
  await shell.shows(new RegExp(`^(\\S*[$#] )?${sum}\\n\\S*[$#] ?$`, "m"));
}
