// A container with little memory, and programs that need more: the kernel kills these and nothing else.
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { Scrape } from "../harness/scrape.ts";
import { builtImage } from "./built-image.ts";
import { BUILD_TIMEOUT_MS, docker } from "./docker.ts";
import { ServerContainer } from "./server-container.ts";

const LIMITED = ["--memory", "400m", "--memory-swap", "400m"];
/** The oldest: a program that the host starts has its command line for a moment. */
const HOST = "pgrep -of 'session-hos[t]'";
/** Buffers its input until the end of a line, which never comes. */
const GLUTTON = "tail /dev/zero";

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

test("a program that uses all memory of the container is killed, and other sessions, host and server continue", async () => {
  await using container = await ServerContainer.start({ docker: LIMITED });
  const { id } = await container.create({ command: ["cat"] });
  const before = await container.sh(HOST);
  const started = await container.inspect("{{.State.StartedAt}}");
  const score = await container.create({ command: ["sh", "-c", "read line; cat /proc/self/oom_score_adj"] });
  await container.send("POST", `/api/sessions/${score.id}/input`, { text: "\n" });
  await container.shows(score.id, "500");

  const shell = await container.create({ command: ["sh", "-c", `${GLUTTON}; echo ended with $?; exec cat`] });
  await container.shows(shell.id, "ended with 137");
  const eater = await container.create({ command: GLUTTON.split(" ") });
  const ended = await eventually(async () => {
    const { json } = await container.send("GET", `/api/sessions/${eater.id}`);
    return Object(json).status === "exited" ? json : undefined;
  }, "the end of the program");
  expect(ended).toMatchObject({ exitCode: 137, exitSignal: "SIGKILL", exitReason: "signal" });
  const kills = (await Scrape.of(container.url)).value("ttyhq_out_of_memory_kills_total");
  expect(kills).toBeGreaterThanOrEqual(2);
  for (const session of [id, shell.id]) {
    await container.send("POST", `/api/sessions/${session}/input`, { text: "alive\r" });
    await container.shows(session, "alive\nalive");
  }
  expect(await container.sh(HOST)).toBe(before);
  expect(await container.inspect("{{.State.StartedAt}}")).toBe(started);
});

test("a container that is killed as a whole has its recordings when it is back, as far as they were written", async () => {
  const volume = `ttyhq-test-${randomUUID()}`;
  try {
    {
      await using container = await ServerContainer.start({ volume, docker: LIMITED });
      await container.create({ id: "lost", command: ["sh", "-c", "seq 100000; echo all; exec cat"] });
      await container.create({ id: "ended", command: ["echo", "whole"] });
      const isPrinted = async (): Promise<true | undefined> => {
        const { text } = await container.send("GET", "/api/sessions/lost/output");
        return text.endsWith("all\r\n") ? true : undefined;
      };
      await eventually(isPrinted, "all output");
      // Answered when everything so far is on the disk, which viewers do not wait for.
      await container.send("GET", "/api/sessions/lost/recording?follow=0");
      await eventually(
        async () =>
          (await container.sh("ls ~/.ttyhq/sessions/ended")).includes("recording.cast") ? true : undefined,
        "the recording",
      );
      // Imitates the kernel's kill of all processes of a container (memory.oom.group).
      await docker("kill", "--signal", "KILL", container.name);
    }
    await using container = await ServerContainer.start({ volume });
    const record = async (id: string): Promise<unknown> =>
      (await container.send("GET", `/api/sessions/${id}`)).json;
    expect(await record("lost")).toMatchObject({ status: "exited", exitReason: "host_lost" });
    expect(await record("ended")).toMatchObject({ status: "exited", exitReason: "exit", exitCode: 0 });
    const { text } = await container.send("GET", "/api/sessions/lost/output");
    expect(text.endsWith("99999\r\n100000\r\nall\r\n")).toBe(true);
    expect((await container.send("GET", "/api/sessions/ended/recording")).text).toContain("whole");
  } finally {
    await docker("volume", "rm", "--force", volume);
  }
});
