import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { openSocket } from "../../src/app/listeners/listeners.ts";
import { noUpgrade } from "../../src/http/upgrade.ts";
import { answers, claimSocket } from "../../src/lib/os/unix-socket.ts";

class Folder implements AsyncDisposable {
  readonly path: string;
  readonly name: string;
  readonly #servers: Server[] = [];

  private constructor(path: string) {
    this.path = path;
    this.name = join(path, "host.sock");
  }

  static async make(): Promise<Folder> {
    return new Folder(await mkdtemp(join(tmpdir(), "ttyhq-socket-")));
  }

  /** The path of a listening socket. */
  async listen(id: string): Promise<string> {
    const path = join(this.path, id);
    const server = createServer().listen(path);
    this.#servers.push(server);
    await once(server, "listening");
    return path;
  }

  /** The name that a killed process leaves behind. */
  async leaveStale(): Promise<void> {
    await claimSocket(await this.listen("dead"), this.name);
    await this.#close(this.#servers.pop());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await this.#close(server);
    await rm(this.path, { recursive: true });
  }

  async #close(server: Server | undefined): Promise<void> {
    await new Promise((resolve) => server?.close(resolve));
  }
}

test("a free name is claimed for its owner alone, and the temporary one is gone", async () => {
  await using folder = await Folder.make();
  const temporary = await folder.listen("one");
  expect(await claimSocket(temporary, folder.name)).toBe(true);
  expect(await answers(folder.name)).toBe(true);
  expect((await stat(folder.name)).mode & 0o777).toBe(0o600);
  expect((await readdir(folder.path)).sort()).toEqual(["host.sock", "host.sock.d"]);
});

test("a live process keeps its name", async () => {
  await using folder = await Folder.make();
  expect(await claimSocket(await folder.listen("one"), folder.name)).toBe(true);
  const { ino } = await stat(folder.name);
  expect(await claimSocket(await folder.listen("two"), folder.name)).toBe(false);
  expect((await stat(folder.name)).ino).toBe(ino);
});

test("a dead process loses its name to the next", async () => {
  await using folder = await Folder.make();
  await folder.leaveStale();
  expect(await answers(folder.name)).toBe(false);
  expect(await claimSocket(await folder.listen("one"), folder.name)).toBe(true);
  expect(await answers(folder.name)).toBe(true);
});

test("a process of the same pid that was killed before it had the name is in nobody's way", async () => {
  await using folder = await Folder.make();
  await writeFile(`${folder.name}.${process.pid}`, "");
  const request = (_: unknown, response: ServerResponse): void => void response.end();
  await using _listener = await openSocket(folder.name, { request, upgrade: noUpgrade });
  expect(await answers(folder.name)).toBe(true);
});

test("a live process that is too busy to answer keeps its name", async () => {
  await using folder = await Folder.make();
  await using busy = await BusyListener.start(join(folder.path, "busy"));
  expect(await claimSocket(busy.path, folder.name)).toBe(true);
  await busy.fill(folder.name);
  const { ino } = await stat(folder.name);
  expect(await claimSocket(await folder.listen("one"), folder.name)).toBe(false);
  expect((await stat(folder.name)).ino).toBe(ino);
});

test("of many that claim a dead one's name at once exactly one gets it", async () => {
  for (let round = 0; round < 100; round++) {
    await using folder = await Folder.make();
    await folder.leaveStale();
    const temporaries = await Promise.all(Array.from({ length: 8 }, (_, index) => folder.listen(`${index}`)));
    const inodes = await Promise.all(temporaries.map(async (path) => (await stat(path)).ino));
    const claims = await Promise.all(temporaries.map((path) => claimSocket(path, folder.name)));
    expect(claims.filter((isMine) => isMine).length).toBe(1);
    expect((await stat(folder.name)).ino).toBe(inodes[claims.indexOf(true)]);
  }
});

/** Listens in a thread that does nothing else. */
class BusyListener implements AsyncDisposable {
  readonly path: string;
  readonly #worker: Worker;
  readonly #waiting: Socket[] = [];

  private constructor(path: string, worker: Worker) {
    this.path = path;
    this.#worker = worker;
  }

  static async start(path: string): Promise<BusyListener> {
    const script = `
      const { workerData, parentPort } = require("node:worker_threads");
      require("node:net").createServer().listen({ path: workerData, backlog: 1 }, () => {
        parentPort.postMessage("listening");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });`;
    const worker = new Worker(script, { eval: true, workerData: path });
    await once(worker, "message");
    const listener = new BusyListener(path, worker);
    return listener;
  }

  /** As many connections wait as the system allows. */
  async fill(path: string): Promise<void> {
    while (await this.#connect(path));
  }

  /** False if no further connection may wait. */
  async #connect(path: string): Promise<boolean> {
    const socket = connect(path);
    this.#waiting.push(socket);
    const connected = once(socket, "connect").then(() => true);
    return connected.catch(() => false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#waiting) socket.destroy();
    await this.#worker.terminate();
  }
}
