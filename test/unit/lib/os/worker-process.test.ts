import { expect, test } from "vitest";
import { z } from "zod";
import { method } from "../../../../src/lib/async/rpc.ts";
import { WorkerProcess } from "../../../../src/lib/os/worker-process.ts";
import { triedWithoutDescriptors } from "../../sessions/without-descriptors.ts";

const ASK = method("ask", z.int(), z.string());
const ANSWER = "x".repeat(1_000);
const QUESTIONS = 50_000;

/** A worker that asks QUESTIONS times without reading an answer. `script` has the socket as `host`. */
function asking(script: string) {
  const program = `const host = new (require("net").Socket)({ fd: 3 });
    for (let id = 1; id <= ${QUESTIONS}; id++) host.write(JSON.stringify({ method: "ask", input: id, id }) + "\\n");
    const end = (text) => require("fs").writeSync(2, "ttyhq: " + text + "\\n") && process.exit(1);
    ${script}`;
  const command = { file: process.execPath, args: ["-e", program], env: {} };
  const worker = new WorkerProcess(command, { name: "worker", code: "git_failed" });
  let asked = 0;
  worker.peer.serve(ASK, () => {
    asked += 1;
    return ANSWER;
  });
  return { worker, asked: () => asked };
}

test("a worker that does not read its answers gets no more of them", async () => {
  const { worker, asked } = asking(`let left = -1;
    setInterval(() => {
      if (host.writableLength === 0) end("all was taken");
      if (host.writableLength === left) end("nothing is taken");
      left = host.writableLength;
    }, 1000);`);
  expect((await worker.ended).message).toContain("nothing is taken");
  expect(asked()).toBeLessThan(QUESTIONS / 2);
});

test("a worker that reads its answers late gets all of them", async () => {
  const { worker, asked } = asking(`let answers = 0;
    setTimeout(() => host.on("data", (data) => {
      answers += String(data).split("\\n").length - 1;
      if (answers === ${QUESTIONS}) end("all is answered");
    }), 500);`);
  expect((await worker.ended).message).toContain("all is answered");
  expect(asked()).toBe(QUESTIONS);
});

test("a worker that cannot start for want of descriptors does not end this process, and starts at the next attempt", async () => {
  const { href } = new URL("../../../../src/lib/os/worker-process.ts", import.meta.url);
  const before = `
    import { WorkerProcess } from "${href}";
    const command = { file: "/bin/true", args: [], env: {} };
    const errors = { name: "worker", code: "git_failed" };
    const run = async () => {
      // A worker does not keep this process alive.
      const alive = setInterval(() => {}, 1_000);
      try {
        return (await new WorkerProcess(command, errors).ended).code;
      } catch ({ code }) {
        // The system's error is reported after that of the constructor.
        await new Promise(setImmediate);
        return code;
      } finally {
        clearInterval(alive);
      }
    };
  `;
  expect(await triedWithoutDescriptors(before, "run()")).toBe("launch_failed,git_failed");
});
