// `ttyhq run` and `ttyhq attach` in a real terminal, as a person sees them.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Installation } from "./harness/installation.ts";
import { TestServer } from "./harness/test-server.ts";
import { Tmux } from "./harness/tmux.ts";

const SIZE = { cols: 80, rows: 24 };
const INNER = "bash --norc --noprofile";
const DETACHED = "keeps running; back to it with: ttyhq attach";
const HINT = "press ctrl-\\ ctrl-\\ to detach: demo keeps running";
const LOST = "ttyhq: connection lost";

describe("ttyhq run", () => {
  test("shows the program as if it ran here, and ends with its exit code", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    await terminal.enter(`stty -a > ${installation.directory}/before; cd /tmp`);
    await terminal.enter(`X=1 $TTYHQ run --name demo -- ${INNER}; echo "code $?"`);
    await terminal.enter(`PS1='inner> '; echo "$PWD $X" ; stty size; echo 'héllo 日本 👍'`);
    const screen = await terminal.shows(/^inner> $/m);
    expect(screen).toMatch(/^\/tmp 1\n24 80\nhéllo 日本 👍$/m);
    await terminal.enter("exit 7");
    await terminal.shows("code 7");
    await terminal.enter(`stty -a > ${installation.directory}/after; echo written`);
    await terminal.shows(/^written$/m);
    const states = ["before", "after"].map((name) => readFile(join(installation.directory, name), "utf8"));
    const [before, after] = await Promise.all(states);
    expect(after).toBe(before);
  });

  test("passes a new size on", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    const program = `trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done`;
    await terminal.enter(`$TTYHQ run -- bash -c "${program}"`);
    await terminal.shows(/^ready$/m);
    await terminal.resize({ cols: 101, rows: 31 });
    await terminal.shows(/^31 101$/m);
  });

  test("leaves the program alone at the detach keys, and gives the terminal back", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    await writeFile(join(installation.directory, "full.sh"), FULL_SCREEN);
    await terminal.enter(`cd ${installation.directory}; echo before`);
    await terminal.enter(`$TTYHQ run --name full -- sh full.sh; echo "code $?"`);
    await terminal.shows("on the alternate screen");
    await terminal.press("C-\\", "C-\\");
    const screen = await terminal.shows("code 0");
    expect(screen).toMatch(/^before\n/m);
    expect(screen).toContain(`[full ${DETACHED}`);
    expect(screen).not.toContain("alternate");
    expect(await terminal.modes()).toBe(
      "alternate_on=0 cursor_flag=1 keypad_cursor_flag=0 mouse_any_flag=0 origin_flag=0\n",
    );
    const list = async (): Promise<unknown> =>
      JSON.parse((await installation.ttyhq(["ls", "--json"])).stdout);
    await expect.poll(list).toMatchObject([{ name: "full", status: "running", viewers: 0 }]);
  });

  test("tells how to detach, unless it is to be quiet", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    await terminal.enter("clear; $TTYHQ run --name demo -- sh -c 'echo ready; exec cat'");
    expect(await terminal.shows(/^ready$/m)).toContain(`[${HINT}]\nready\n`);
    await terminal.press("C-\\", "C-\\");
    await terminal.shows(`[demo ${DETACHED}`);
    await terminal.enter('clear; $TTYHQ run -q -- echo done; echo "code $?"');
    expect(await terminal.shows("code 0")).not.toContain("detach");
    await terminal.enter("clear; $TTYHQ attach demo");
    expect(await terminal.shows(HINT)).toMatch(/^ready$/m);
    // The row belongs to the program.
    await expect.poll(() => terminal.screen()).not.toContain(HINT);
    await terminal.press("C-\\", "C-\\");
    await terminal.shows(`[demo ${DETACHED}`);
    await terminal.enter("clear; $TTYHQ attach -q demo");
    expect(await terminal.shows(/^ready$/m)).not.toContain(HINT);
  });

  test("sends one of the detach keys to the program", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    const program = `trap 'echo quit' QUIT; echo ready; while :; do sleep 0.05; done`;
    await terminal.enter(`$TTYHQ run -- bash -c "${program}"`);
    await terminal.shows(/^ready$/m);
    await terminal.press("C-\\");
    // Right after the key's echo, if the shell does not report a sleep that the signal ended.
    await terminal.shows(/^(?:\^\\)?quit$/m);
  });

  test("told to stop restores the terminal and leaves the program alone", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    await writeFile(join(installation.directory, "full.sh"), FULL_SCREEN);
    await terminal.enter(`cd ${installation.directory}; clear`);
    await terminal.enter(`sh -c 'echo $$ > pid; exec $TTYHQ run --name full -- sh full.sh'; echo "code $?"`);
    await terminal.shows("on the alternate screen");
    const pid = await readFile(join(installation.directory, "pid"), "utf8");
    process.kill(Number(pid), "SIGTERM");
    expect(await terminal.shows("code 143")).not.toContain("alternate");
    await terminal.enter("stty -a | grep -o ' echo '");
    await terminal.shows(/^ echo $/m);
    expect((await installation.ttyhq(["ls"])).stdout).toMatch(/full +running/);
  });

  test("is raw again, with the session's screen, when it goes on after a stop", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    await terminal.enter(`cd ${installation.directory}; clear`);
    await terminal.enter(`sh -c 'echo $$ > pid; exec $TTYHQ run -- ${INNER}'`);
    await terminal.enter("PS1='inner> '; clear");
    await terminal.shows(/^inner> $/m);
    const pid = await readFile(join(installation.directory, "pid"), "utf8");
    process.kill(Number(pid), "SIGTSTP");
    await terminal.shows("Stopped");
    // So that the session's prompt is not there before it is drawn again.
    await terminal.enter("clear");
    await terminal.shows(/^outer> \s*$/);
    await terminal.enter(`fg; echo "code $?"`);
    await terminal.shows(/^inner> $/m);
    await terminal.press("C-c");
    // A terminal that handles ctrl-c discards what was typed behind it.
    await terminal.shows(/^inner> \^C\s+inner> $/m);
    await terminal.enter("exit 5");
    await terminal.shows("code 5");
  });

  test("leaves the program alone when the terminal is closed, and ends itself", async () => {
    await using installation = await Installation.make();
    {
      await using terminal = await Tmux.open(SIZE, installation.env);
      await terminal.enter(`$TTYHQ run --name demo -- ${INNER}`);
      await terminal.enter("PS1='inner> '");
      await terminal.shows(/^inner> $/m);
    }
    const viewed = { name: "demo", status: "running", viewers: 0 };
    const list = async (): Promise<unknown> =>
      JSON.parse((await installation.ttyhq(["ls", "--json"])).stdout);
    await expect.poll(list).toMatchObject([viewed]);
  });

  test("works in a pipe: input, its end and every byte of the output", async () => {
    await using installation = await Installation.make();
    // Input before the terminal's echo is off is echoed as well.
    const script = "stty -echo; sed 's/^/got /'; exit 3";
    expect(await installation.ttyhq(["run", "--", "sh", "-c", script], "one\ntwo")).toEqual({
      exitCode: 3,
      stdout: expect.stringMatching(/got one\r\ngot two$/),
      stderr: "",
    });
    const flood = "head -c 20000000 /dev/zero | tr '\\0' x";
    const { stdout } = await installation.ttyhq(["run", "--", "sh", "-c", flood]);
    expect(stdout.length).toBe(20_000_000);
    expect(/^x*$/.test(stdout)).toBe(true);
  });
});

describe("ttyhq attach", () => {
  test("draws what is there, goes on with it, and ends with the program's exit code", async () => {
    await using installation = await Installation.make();
    await installation.ttyhq(["run", "--detach", "--name", "demo", "--", ...INNER.split(" ")]);
    await using terminal = await Tmux.open({ cols: 90, rows: 20 }, installation.env);
    for (const round of ["first", "second"]) {
      // So that the screen of the round before is not taken for what is drawn.
      await terminal.enter("clear");
      await terminal.shows(/^outer> \s*$/);
      await terminal.enter(`$TTYHQ attach demo; echo "code $?"`);
      if (round === "first") await terminal.enter("PS1='inner> '; echo 'héllo 日本'; stty size");
      const screen = await terminal.shows(/^inner> $/m);
      expect(screen).toMatch(/^héllo 日本\n20 90$/m);
      if (round === "second") await terminal.enter("exit 5");
      else await terminal.press("C-\\", "C-\\");
      await terminal.shows(round === "second" ? "code 5" : "code 0");
    }
  });

  test("of several terminals gives the session the size that came last", async () => {
    await using installation = await Installation.make();
    const program = `trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done`;
    await installation.ttyhq(["run", "-d", "--name", "demo", "--", "bash", "-c", program]);
    await using large = await Tmux.open({ cols: 100, rows: 30 }, installation.env);
    await large.enter("$TTYHQ attach demo");
    await large.shows(/^30 100$/m);
    await using small = await Tmux.open({ cols: 60, rows: 15 }, installation.env);
    await small.enter("$TTYHQ attach demo");
    await Promise.all([small.shows(/^15 60$/m), large.shows(/^15 60$/m)]);
    await large.resize({ cols: 120, rows: 35 });
    await Promise.all([small.shows(/^35 120$/m), large.shows(/^35 120$/m)]);
  });

  test("only looks when asked to, and ctrl-c detaches then", async () => {
    await using installation = await Installation.make();
    await installation.ttyhq(["run", "-d", "--name", "demo", "--", "sh", "-c", "stty size; echo ready; cat"]);
    await using terminal = await Tmux.open({ cols: 100, rows: 30 }, installation.env);
    await terminal.enter('$TTYHQ attach --read-only demo; echo "code $?"');
    expect(await terminal.shows(/^ready$/m)).toMatch(/^24 80$/m);
    await terminal.type("nobody reads this");
    await terminal.press("C-c");
    expect(await terminal.shows("code 0")).not.toContain("nobody");
    const { stdout } = await installation.ttyhq(["ls", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject([{ status: "running", cols: 80, rows: 24 }]);
  });

  test("goes on by itself when the local server is killed", async () => {
    await using server = await TestServer.start({ asProcess: true });
    const installation = new Installation(server.controlDir);
    await using terminal = await Tmux.open(SIZE, installation.env);
    await terminal.enter(`$TTYHQ run -- ${INNER}`);
    await terminal.enter("PS1='inner> '");
    await terminal.shows(/^inner> $/m);
    await server.kill();
    await terminal.shows(/^inner> $/m);
    const answer = async (): Promise<string> => {
      await terminal.enter("echo $((20+3))");
      return await terminal.screen();
    };
    await expect.poll(answer).toMatch(/^23$/m);
    // A key in flight when the link broke causes a message, which disappears again.
    await expect.poll(() => terminal.screen()).not.toContain(LOST);
  });

  test("says that the connection is lost, sends nothing meanwhile, and resumes by itself", async () => {
    await using server = await TestServer.start({ asProcess: true });
    const installation = new Installation(server.controlDir);
    await using terminal = await Tmux.open(SIZE, { ...installation.env, TTYHQ_URL: server.url });
    await terminal.enter(`env -u TTYHQ_CONTROL_DIR $TTYHQ run -- ${INNER}`);
    await terminal.enter("PS1='inner> '; for i in 1 2 3; do echo line $i; done");
    await terminal.shows(/^inner> $/m);
    const before = await terminal.screen();
    await server.kill();
    await terminal.shows(LOST);
    await terminal.enter("echo typed into the void");
    await server.restart();
    await expect.poll(async () => await terminal.screen()).not.toContain(LOST);
    await terminal.shows(before.slice(before.indexOf("line 1")).trimEnd());
    await terminal.enter("echo back again");
    expect(await terminal.shows(/^back again$/m)).not.toContain("void");
  });

  test("shows the last screen of an ended session, and ends as it did", async () => {
    await using installation = await Installation.make();
    await installation.ttyhq(["run", "--name", "demo", "--", "sh", "-c", "echo the end; exit 4"]);
    await using terminal = await Tmux.open(SIZE, installation.env);
    await terminal.enter('clear; $TTYHQ attach demo; echo "code $?"');
    expect(await terminal.shows("code 4")).toMatch(/^the end\n\[demo ended with 4\]$/m);
  });

  test("refuses to show a session in itself", async () => {
    await using installation = await Installation.make();
    await using terminal = await Tmux.open(SIZE, installation.env);
    await terminal.enter(`$TTYHQ run --name me -- sh -c '$TTYHQ attach me'`);
    await terminal.shows("ttyhq: this terminal is that session");
  });
});

/** Uses the whole screen and enables all modes of programs, like an editor with a mouse. */
const FULL_SCREEN =
  "printf '\\033[?1049h\\033[2J\\033[?25l\\033[?1h\\033[?1003h\\033[?1006h\\033[?2004h\\033[2;20ron the alternate screen'; exec sleep 1000";
