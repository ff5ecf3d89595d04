// Work on a session's files that fails or ends late, in a process of its own that a mistake would end.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const SOURCE = new URL("../../../src/", import.meta.url).href;

/** Defines `sessions`, `event` and `ticks`, and `faults` of the file system, which a script may set. */
const STAGE = `
  import files from "node:fs/promises";
  import fs, { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  import { tmpdir } from "node:os";
  import { join } from "node:path";
  const faults = { rename: () => {}, append: () => {}, closeRecord: () => {}, closeOutput: async () => {},
    writeOutput: () => {}, writeRecord: async (write, bytes) => await write(bytes), syncRecord: async () => {} };
  const { rename, open, appendFile } = files;
  const renamed = new Map();
  files.rename = async (from, to) => {
    faults.rename(from);
    await rename(from, to);
    renamed.get(to)?.();
  };
  files.appendFile = async (...rest) => {
    faults.append();
    await appendFile(...rest);
  };
  files.open = async (path, ...rest) => {
    const file = await open(path, ...rest);
    const close = file.close.bind(file);
    const writev = file.writev.bind(file);
    if (String(path).endsWith("/output")) {
      file.close = () => close().then(faults.closeOutput);
      file.writev = async (...rest) => {
        faults.writeOutput();
        return await writev(...rest);
      };
    }
    if (String(path).endsWith("/session.json")) {
      const [writeFile, sync] = [file.writeFile.bind(file), file.sync.bind(file)];
      file[Symbol.asyncDispose] = () => close().then(faults.closeRecord);
      file.writeFile = (bytes) => faults.writeRecord(writeFile, bytes);
      file.sync = () => faults.syncRecord().then(sync);
    }
    return file;
  };
  syncBuiltinESMExports();
  const { createLogger } = await import("${SOURCE}log.ts");
  const { LocalSessions } = await import("${SOURCE}sessions/local-sessions.ts");
  const { Screens } = await import("${SOURCE}sessions/screen/screens.ts");
  const { openControlDir } = await import("${SOURCE}sessions/storage/control-dir.ts");
  const directory = mkdtempSync(join(tmpdir(), "ttyhq-faults-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const controlDir = openControlDir(directory);
  const host = () => new LocalSessions({
    controlDir, env: process.env, account: { user: "me", home: "/", shell: "/bin/sh" },
    screens: new Screens(), now: () => performance.now(), maxRecordingBytes: 1e6, recordInput: false,
    log: createLogger({ level: "silent", destination: { write: () => true } }),
  });
  const sessions = host();
  await sessions.recover();
  const start = (id, command, transient) =>
    sessions.create({ id, command: ["sh", "-c", command], transient, cwd: "/", cols: 80, rows: 24 });
  const event = (type, sessionId) =>
    new Promise((resolve) => sessions.watch((e) => e.type === type && e.sessionId === sessionId && resolve()));
  const ticks = async () => {
    for (let tick = 0; tick < 20; tick++) await new Promise(setImmediate);
  };
  const failure = (code) => Object.assign(new Error(code), { code });
`;

/** Standard output and error of the script. */
async function run(script: string): Promise<string> {
  const end = "\nawait sessions[Symbol.asyncDispose]();\nprocess.exit(0);";
  const words = ["--input-type=module", "--eval", STAGE + script + end];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
  return (await Promise.all([text(child.stdout), text(child.stderr)])).join("");
}

test("a transient session whose files cannot be removed ends nothing but itself", async () => {
  const output = await run(`
    const tried = Promise.withResolvers();
    faults.rename = (from) => {
      if (!from.endsWith("/brief")) return;
      tried.resolve();
      throw failure("EROFS");
    };
    await start("other", "exec sleep 60");
    await start("brief", "exit", true);
    await tried.promise;
    await ticks();
    console.log(sessions.find("other").status);
  `);
  expect(output).toBe("running\n");
});

test("a network disk that refuses the first record when it is closed ends no session", async () => {
  const output = await run(`
    const tried = Promise.withResolvers();
    faults.closeRecord = () => {
      tried.resolve();
      throw failure("EDQUOT");
    };
    await start("one", "exec sleep 60");
    await tried.promise;
    await ticks();
    console.log(sessions.find("one").status);
  `);
  expect(output).toBe("running\n");
});

test("a transient session that ends late spares the next session of that id", async () => {
  const output = await run(`
    const closing = Promise.withResolvers();
    faults.closeOutput = () => closing.promise;
    const ended = event("session-exit", "brief");
    await start("brief", "exit", true);
    await ended;
    await sessions.remove("brief");
    await start("brief", "exec sleep 60");
    closing.resolve();
    await ticks();
    console.log(sessions.find("brief").status, existsSync(controlDir.session("brief").output));
  `);
  expect(output).toBe("running true\n");
});

test("a lost session whose journal is repaired only when there is space again is recorded whole", async () => {
  const output = await run(`
    const { directory: folder, record, output, events, recording } = controlDir.session("lost");
    mkdirSync(folder);
    writeFileSync(record, JSON.stringify({
      id: "lost", name: "n", command: ["sh"], cwd: "/", created: new Date(0).toISOString(),
      pid: 999_999_999, cols: 80, rows: 24, shell: "/bin/sh",
    }));
    writeFileSync(output, "not in the records");
    writeFileSync(events, "");
    let refusals = 2;
    faults.append = () => {
      if (refusals-- > 0) throw failure("ENOSPC");
    };
    const recorded = new Promise((resolve) => renamed.set(recording, resolve));
    const alive = setInterval(() => {}, 60_000);
    const next = host();
    await next.recover();
    await recorded;
    clearInterval(alive);
    const [, ...lines] = readFileSync(recording, "utf8").trimEnd().split("\\n");
    console.log(lines.map((line) => JSON.parse(line).slice(1).join(" ")).join());
    await next[Symbol.asyncDispose]();
  `);
  expect(output).toBe("o not in the records,m the session host was lost\n");
});

test.concurrent.each(["EFBIG", "ESTALE", "EIO"])(
  "output that is refused with %s is written again until it is on the disk, and then its recording is",
  async (code) => {
    const output = await run(`
      let refusals = 2;
      faults.writeOutput = () => {
        if (refusals-- > 0) throw failure("${code}");
      };
      const { output, recording } = controlDir.session("one");
      const recorded = new Promise((resolve) => renamed.set(recording, resolve));
      const alive = setInterval(() => {}, 60_000);
      const ended = event("session-exit", "one");
      await start("one", "printf hello");
      await ended;
      console.log(sessions.find("one").recording);
      await recorded;
      clearInterval(alive);
      console.log(readFileSync(output, "utf8"), sessions.find("one").recording);
    `);
    expect(output).toBe("waiting\nhello undefined\n");
  },
);

test("a host whose programs cannot be ended stores what waits before it stops", async () => {
  const output = await run(`
    await start("one", "exec sleep 60");
    faults.rename = () => {
      throw failure("ENOSPC");
    };
    await sessions.rename("one", "stored");
    faults.rename = () => {};
    const { readdirSync } = fs;
    fs.readdirSync = (path, ...rest) => {
      if (path === "/proc") throw failure("EMFILE");
      return readdirSync(path, ...rest);
    };
    syncBuiltinESMExports();
    await sessions[Symbol.asyncDispose]();
    console.log(JSON.parse(readFileSync(controlDir.session("one").record, "utf8")).name);
  `);
  expect(output).toBe("stored\n");
});

test("a first record that was written in part is whole after the retry", async () => {
  const output = await run(`
    const slow = Promise.withResolvers();
    faults.syncRecord = () => slow.promise;
    await start("other", "exec sleep 60");
    const { record } = controlDir.session("one");
    const stored = new Promise((resolve) => {
      renamed.set(record, resolve);
      let writes = 0;
      faults.writeRecord = async (write, bytes) => {
        writes += 1;
        await write(writes === 1 ? bytes.subarray(0, 20) : bytes);
        if (writes === 1) throw failure("ENOSPC");
        resolve();
      };
    });
    faults.rename = () => {
      faults.rename = () => {};
      throw failure("ENOSPC");
    };
    const alive = setInterval(() => {}, 60_000);
    await start("one", "exec sleep 60");
    await stored;
    clearInterval(alive);
    console.log(JSON.parse(readFileSync(record, "utf8")).id);
    slow.resolve();
  `);
  expect(output).toBe("one\n");
});
