import { expect, test } from "vitest";
import { sessionEnv } from "../../../src/cli/commands/run.ts";

test("the session gets the environment without the terminal's variables and without secrets", () => {
  const env = {
    HOME: "/home/me",
    EDITOR: "vim",
    TERM: "screen-256color",
    TMUX: "/tmp/tmux",
    TTYHQ_TOKEN: "secret",
    TTYHQ_CONTROL_DIR: "/srv/ttyhq",
    SERVICE_PASSWORD: "secret",
    "BASH_FUNC_x%%": "() { :; }",
    UNSET: undefined,
  };
  expect(sessionEnv(env)).toEqual({ HOME: "/home/me", EDITOR: "vim", TTYHQ_CONTROL_DIR: "/srv/ttyhq" });
});
