// What a git worker may do with the bytes of a file: it is a process of the user, and may be anything.
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { HOST, WORKER } from "../../../src/git/worker/methods.ts";
import { RpcPeer } from "../../../src/lib/async/rpc.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import { FileTransfers } from "../../../src/repositories/file-transfers.ts";

const PLACE = { pids: [], workingDir: "/" };
const never = new AbortController().signal;
const bytes = (text: string): string => Buffer.from(text).toString("base64");

function pair() {
  const [near, far] = duplexPair();
  const worker = new RpcPeer(far, 1024 * 1024);
  const host = new RpcPeer(near, 1024 * 1024);
  const transfers = new FileTransfers(async () => host);
  transfers.serve(host);
  return { worker, transfers };
}

test("bytes beyond the announced length are not passed on: they would be the next answer on the connection", async () => {
  const { worker, transfers } = pair();
  worker.serve(WORKER.sendFile, async ({ transfer }) => {
    worker.emit(HOST.opened, { transfer, name: "a", size: 3 });
    worker.emit(HOST.opened, { transfer, name: "a", size: 300 });
    await worker.call(HOST.write, { transfer, bytes: bytes("abc") });
    await worker.call(HOST.write, { transfer, bytes: bytes("HTTP/1.1 200 OK") });
    return undefined;
  });
  const { length, body } = await transfers.open(PLACE, "a", never);
  expect(length).toBe(3);
  const passed: string[] = [];
  const read = async (): Promise<void> => {
    for await (const piece of body) passed.push(Buffer.from(piece).toString());
  };
  await expect(read()).rejects.toThrow("a changed while it was read");
  expect(passed.join("")).toBe("abc");
});

test.each([
  ["less than announced", 5],
  ["nothing at all", undefined],
])("a worker that sends %s breaks the download off", async (_, size) => {
  const { worker, transfers } = pair();
  worker.serve(WORKER.sendFile, async ({ transfer }) => {
    if (size !== undefined) {
      worker.emit(HOST.opened, { transfer, name: "a", size });
      await worker.call(HOST.write, { transfer, bytes: bytes("abc") });
    }
    return undefined;
  });
  const download = async (): Promise<Uint8Array> => {
    const { body } = await transfers.open(PLACE, "a", never);
    return await collectBytes(body, 100);
  };
  await expect(download()).rejects.toThrow("a changed while it was read");
});

test("a worker does not run ahead of its reader, and ended transfers take no bytes", async () => {
  const { worker, transfers } = pair();
  let written = 0;
  let number = 0;
  worker.serve(WORKER.sendFile, async ({ transfer }) => {
    number = transfer;
    worker.emit(HOST.opened, { transfer, name: "a", size: 100 });
    for (let each = 0; each < 100; each++) {
      await worker.call(HOST.write, { transfer, bytes: bytes("x") });
      written += 1;
    }
    return undefined;
  });
  const { body } = await transfers.open(PLACE, "a", never);
  const reader = body[Symbol.asyncIterator]();
  for (let read = 1; read <= 3; read++) {
    await reader.next();
    // An answer to this comes after the answers to writes before it.
    await worker.call(HOST.read, { transfer: 0 });
    expect(written).toBeLessThanOrEqual(read + 1);
  }
  await reader.return?.();
  expect(await worker.call(HOST.read, { transfer: number })).toBeUndefined();
});

test("the error of an aborted body is the error of the upload", async () => {
  const { worker, transfers } = pair();
  worker.serve(WORKER.saveFile, async ({ transfer }, signal) => {
    for (;;) await worker.call(HOST.read, { transfer }, signal);
  });
  const body = (async function* () {
    yield Buffer.from("a");
    throw new Error("cut");
  })();
  const upload = transfers.save(PLACE, { name: "a", body }, never);
  await expect(upload).rejects.toThrow("cut");
});

test("a worker that does not wait for the reader is refused", async () => {
  const { worker, transfers } = pair();
  const refused = Promise.withResolvers<unknown>();
  worker.serve(WORKER.sendFile, async ({ transfer }) => {
    worker.emit(HOST.opened, { transfer, name: "a", size: 9 });
    for (const piece of ["abc", "def", "ghi"])
      worker.call(HOST.write, { transfer, bytes: bytes(piece) }).catch(refused.resolve);
    return await new Promise<undefined>(() => {});
  });
  const { body } = await transfers.open(PLACE, "a", never);
  expect(await refused.promise).toMatchObject({ message: "a was sent too fast" });
  for await (const piece of body) {
    expect(Buffer.from(piece).toString()).toBe("abc");
    break;
  }
});
