import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { ran } from "../run-cli.ts";

const HEADER = '{"version":2,"width":80,"height":24}\n';

test.each(["", HEADER, `${HEADER}[0, "o", "hello"]\n`])(
  "a stop signal ends the play of a pipe that says %j and stays open",
  async (text) => {
    const stdin = new PassThrough();
    stdin.write(text);
    const others = process.listeners("SIGTERM");
    const played = ran(["play", "-"], { stdin });
    const listening = () => process.listeners("SIGTERM").filter((listener) => !others.includes(listener));
    await expect.poll(() => listening().length).toBe(1);
    await expect.poll(() => stdin.readableLength).toBe(0);
    for (const listener of listening()) listener("SIGTERM");
    expect(await played).toEqual({ exitCode: 0, stdout: text.includes("hello") ? "hello" : "", stderr: "" });
  },
);
