// A real terminal: tmux with its own server, controlled by keys and read from its screen.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { PATIENCE_MS } from "./patience.ts";

const run = promisify(execFile);

/** Between two checks of the screen. */
const POLL_MS = 60;

export type TerminalSize = { readonly cols: number; readonly rows: number };

/** One window of tmux with a shell. Disposal ends all its programs. */
export class Tmux implements AsyncDisposable {
  readonly #name = `ttyhq-test-${randomUUID()}`;

  /** The shell's prompt is `outer> `, and `env` is its environment. */
  static async open(size: TerminalSize, env: Readonly<Record<string, string>> = {}): Promise<Tmux> {
    const tmux = new Tmux();
    const settings = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const shape = ["-x", String(size.cols), "-y", String(size.rows)];
    try {
      await tmux.#command("new-session", "-d", ...shape, ...settings, "bash --norc --noprofile");
      await tmux.enter("PS1='outer> '; clear");
      await tmux.shows(/^outer> $/m);
    } catch (error) {
      await tmux[Symbol.asyncDispose]();
      throw error;
    }
    return tmux;
  }

  /** Types a line and Enter. */
  async enter(line: string): Promise<void> {
    await this.type(line);
    await this.press("Enter");
  }

  async type(text: string): Promise<void> {
    await this.#command("send-keys", "-l", "--", text);
  }

  /** Keys by tmux's names, such as `Enter`, `C-c`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#command("send-keys", ...keys);
  }

  async resize({ cols, rows }: TerminalSize): Promise<void> {
    await this.#command("resize-window", "-x", String(cols), "-y", String(rows));
  }

  /** The screen as text; trailing spaces as in `PS1`. */
  async screen(): Promise<string> {
    return await this.#command("capture-pane", "-p", "-J");
  }

  /** The screen with its colours, as escape sequences. */
  async colours(): Promise<string> {
    return await this.#command("capture-pane", "-p", "-e", "-J");
  }

  /** Includes the scrollback. */
  async history(): Promise<string> {
    return await this.#command("capture-pane", "-p", "-J", "-S", "-");
  }

  /** Waits until the screen matches; the error contains the actual screen. */
  async shows(pattern: RegExp | string): Promise<string> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const screen = await this.screen();
      if (typeof pattern === "string" ? screen.includes(pattern) : pattern.test(screen)) return screen;
      if (Date.now() > deadline) throw new Error(`the screen does not show ${pattern}:\n${screen}`);
      await pause(POLL_MS);
    }
  }

  /** Whether the terminal is in a shell's line mode, according to tmux. */
  async modes(): Promise<string> {
    const names = ["alternate_on", "cursor_flag", "keypad_cursor_flag", "mouse_any_flag", "origin_flag"];
    return await this.#command("display-message", "-p", names.map((name) => `${name}=#{${name}}`).join(" "));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#command("kill-server").catch(() => undefined);
  }

  async #command(...args: readonly string[]): Promise<string> {
    const { stdout } = await run("tmux", ["-L", this.#name, "-f", "/dev/null", "-u", ...args], {
      timeout: PATIENCE_MS,
    });
    return stdout;
  }
}
