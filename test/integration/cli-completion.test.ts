// The completion scripts in real shells, with real sessions.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { Installation } from "./harness/installation.ts";
import { Tmux } from "./harness/tmux.ts";

async function withSession(): Promise<Installation> {
  const installation = await Installation.make();
  await installation.ttyhq(["run", "--detach", "--name", "my build", "--", "sleep", "1000"]);
  return installation;
}

test("zsh completes commands with their meaning, options, and names of sessions", async () => {
  await using installation = await withSession();
  await using terminal = await Tmux.open({ cols: 120, rows: 50 }, installation.env);
  await terminal.enter("exec zsh -f");
  await terminal.enter(`PS1='z> '; ttyhq() { \${=TTYHQ} "$@"; }; HOME=${installation.directory}; clear`);
  await terminal.enter("source <(ttyhq completion zsh); clear; echo loaded");
  await terminal.shows(/^loaded$/m);
  const completed = async (line: string, pattern: RegExp): Promise<void> => {
    await terminal.type(line);
    await terminal.press("Tab");
    await terminal.shows(pattern);
    await terminal.press("C-u");
  };
  await completed("ttyhq att", /^z> ttyhq attach $/m);
  await completed("ttyhq ls --fi", /^z> ttyhq ls --filter $/m);
  await completed("ttyhq attach m", /^z> ttyhq attach my\\ build $/m);
  await completed("ttyhq log", /^logs +-- print the output of a session$/m);
});

test("fish completes commands with their meaning, options, and names of sessions", async () => {
  await using installation = await withSession();
  const setUp = "function ttyhq; eval $TTYHQ (string escape -- $argv); end; ttyhq completion fish | source";
  const completed = async (line: string): Promise<string> => {
    const env = { ...process.env, ...installation.env, HOME: installation.directory };
    const args = ["--no-config", "-c", `${setUp}; complete -C "${line}"`];
    return (await promisify(execFile)("fish", args, { env })).stdout;
  };
  expect(await completed("ttyhq att")).toBe("attach\tshow a session on this terminal and type into it\n");
  expect(await completed("ttyhq ls --fi")).toBe("--filter\n");
  expect(await completed("ttyhq attach m")).toBe("my build\n");
});
