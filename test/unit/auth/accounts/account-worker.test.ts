import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { AccountWorker } from "../../../../src/auth/accounts/account-worker.ts";
import { ACCOUNTS } from "../../../../src/auth/accounts/methods.ts";
import { programFile } from "../../../../src/lib/os/installation.ts";
import { childrenOf } from "./children.ts";

const TIMEOUT_MS = 60_000;
const { username: name } = userInfo();
const found = { account: { name } };

function isWorker(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("accounts/worker");
}

/** A worker that has answered, and its process. */
async function begun() {
  const before = childrenOf(process.pid);
  const worker = new AccountWorker(programFile("account-worker"));
  const ask = (timeoutMs = TIMEOUT_MS) => worker.call(ACCOUNTS.status, name, timeoutMs);
  expect(await ask()).toMatchObject(found);
  const [pid = 0] = childrenOf(process.pid).filter((each) => !before.includes(each) && isWorker(each));
  return { worker, ask, pid, [Symbol.dispose]: () => worker[Symbol.dispose]() };
}

test("a worker that was killed is replaced for the next question", async () => {
  using stage = await begun();
  process.kill(stage.pid, "SIGSTOP");
  const unlucky = stage.ask();
  process.kill(stage.pid, "SIGKILL");
  await expect(unlucky).rejects.toMatchObject({
    code: "internal_error",
    message: "the account worker ended (SIGKILL): try again",
  });
  expect(await stage.ask()).toMatchObject(found);
});

test("a worker that takes too long is ended and replaced", async () => {
  using stage = await begun();
  process.kill(stage.pid, "SIGSTOP");
  await expect(stage.ask(100)).rejects.toMatchObject({
    code: "internal_error",
    message: "the system takes too long to answer about its users",
  });
  expect(await stage.ask()).toMatchObject(found);
  await expect.poll(() => childrenOf(process.pid)).not.toContain(stage.pid);
});

test("a worker gets nothing of the server's environment", async () => {
  process.env.TTYHQ_WORKER_TEST = "secret";
  using stage = await begun();
  delete process.env.TTYHQ_WORKER_TEST;
  const variables = readFileSync(`/proc/${stage.pid}/environ`, "utf8").split("\0").filter(Boolean);
  expect(variables.map((each) => each.split("=")[0])).toEqual(["PATH"]);
});

test("questions at once are answered each with its own", async () => {
  using stage = await begun();
  const names = [name, "no-such-user", name, "0", ""];
  const answers = await Promise.all(
    names.map((each) => stage.worker.call(ACCOUNTS.status, each, TIMEOUT_MS)),
  );
  expect(answers.map(({ account }) => account?.name)).toEqual([name, undefined, name, undefined, undefined]);
});
