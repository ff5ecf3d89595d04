import { expect, test } from "vitest";
import { joinCommand } from "../../../../src/web/machines/join-command.ts";

test("over HTTPS the command names the HQ and asks for a token", () => {
  const { text, hints } = joinCommand({ origin: "https://hq.example", isOpen: false });
  expect(text.split(" \\\n  ")).toEqual([
    "ttyhq serve --hq-url https://hq.example",
    "--name NAME",
    "--join-token-file FILE",
  ]);
  expect(hints).toEqual([
    "FILE has what `ttyhq join-token create --name NAME` prints at the HQ; it works once, for 15 minutes.",
  ]);
});

test("plain HTTP must be allowed, and an open HQ accepts remotes without credentials", () => {
  const { text, hints } = joinCommand({ origin: "http://hq.example:4020", isOpen: true });
  expect(text.split(" \\\n  ")).toEqual([
    "ttyhq serve --hq-url http://hq.example:4020",
    "--allow-insecure-hq",
    "--no-hq-auth",
  ]);
  expect(hints).toHaveLength(1);
});

test.each(["http://localhost:4020", "http://127.0.0.1:4020", "http://[::1]:4020"])(
  "no other machine finds an HQ at %s, and that is said",
  (origin) => {
    const { hints } = joinCommand({ origin, isOpen: true });
    expect(hints.join(" ")).toContain(`instead of ${new URL(origin).hostname}`);
  },
);

test("with a token the command is one line that can be pasted, named by the machine where the token takes many names", () => {
  const made = (name: string) =>
    joinCommand({ origin: "https://hq.example", isOpen: false, token: { name, token: "t0k-en_" } });
  expect(made("build-1")).toEqual({
    text: "TTYHQ_JOIN_TOKEN=t0k-en_ ttyhq serve --hq-url https://hq.example --name build-1",
    hints: [],
  });
  expect(made("build-*").text).toContain(' --name "build-$(hostname -s)"');
});
