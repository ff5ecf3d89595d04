// Files to and from sessions, with the rights of the session's user.
import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { AuditLog } from "./harness/audit-log.ts";
import { type Answer, ask, type Question } from "./harness/http.ts";
import { askAs, bearer, logIn, passwordServer } from "./harness/password-server.ts";
import { People, Person } from "./harness/people.ts";
import { openConnection } from "./harness/raw-request.ts";
import { SmallDisk } from "./harness/small-disk.ts";
import { TestFleet } from "./harness/test-fleet.ts";
import { TestServer } from "./harness/test-server.ts";

const run = promisify(execFile);
const MAX_BYTES = 200_000;
const isRoot = process.getuid?.() === 0;

type Asks = (path: string, question?: Question) => Promise<Answer>;

let server: TestServer;
let asOwner: Asks;
let token: string;
const made = new AsyncDisposableStack();
beforeAll(async () => {
  server = made.use(await passwordServer("inline", { args: ["--max-upload", `${MAX_BYTES}`] }));
  token = await logIn(server);
  asOwner = (path, question) => askAs(token, server, path, question);
});
afterAll(() => made.disposeAsync());

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ttyhq-files-"));
  made.defer(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function session(asks: Asks, cwd: string, command: readonly string[] = ["cat"]): Promise<string> {
  const answer = await asks("/api/sessions", { body: { command, cwd } });
  expect(answer.status).toBe(201);
  return answer.json.id;
}

const upload = (asks: Asks, id: string, name: string, body: string | Uint8Array = "x"): Promise<Answer> =>
  asks(`/api/sessions/${id}/files?${new URLSearchParams({ name })}`, { body });
const download = (asks: Asks, id: string, path: string): Promise<Answer> =>
  asks(`/api/sessions/${id}/files?${new URLSearchParams({ path })}`);

test("a name with more than one path component is refused, and nothing is written", async () => {
  const cwd = await folder();
  await mkdir(join(cwd, "in"));
  const id = await session(asOwner, join(cwd, "in"));
  const names = [
    "",
    ".",
    "..",
    "../a",
    "/etc/a",
    "a/b",
    "a\0b",
    "a\nb",
    "a\x1b[31m",
    "a\x85",
    "ü".repeat(128),
  ];
  for (const name of names) {
    const answer = await upload(asOwner, id, name);
    expect([name, answer.status, answer.json.code]).toEqual([name, 400, "invalid_request"]);
  }
  expect(await readdir(cwd, { recursive: true })).toEqual(["in"]);
});

test("a file never replaces another: not one that is there, nor the target of a link, nor one that comes at once", async () => {
  const cwd = await folder();
  const target = join(await folder(), "target");
  await writeFile(join(cwd, "a.png"), "mine");
  await symlink(target, join(cwd, "b.png"));
  const id = await session(asOwner, cwd);
  const answers = await Promise.all([
    ...["1", "2"].map((body) => upload(asOwner, id, "a.png", body)),
    upload(asOwner, id, "b.png", "3"),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(answers.map(({ json }) => json.name).sort()).toEqual(["a-2.png", "a-3.png", "b-2.png"]);
  expect(answers[2]?.json).toEqual({ path: join(cwd, "b-2.png"), name: "b-2.png", size: 1 });
  expect((await readdir(cwd)).sort()).toEqual(["a-2.png", "a-3.png", "a.png", "b-2.png", "b.png"]);
  expect(await readFile(join(cwd, "a.png"), "utf8")).toBe("mine");
  await expect(stat(target)).rejects.toThrow("ENOENT");
});

test("a file lands where the foreground program is, and comes back byte for byte, as a download that no page shows", async () => {
  const cwd = await folder();
  await mkdir(join(cwd, "deep er"));
  const id = await session(asOwner, cwd, ["sh", "-c", "cd 'deep er' && cat; :"]);
  const inFolder = async () => {
    const { json } = await upload(asOwner, id, "where");
    return json.path.startsWith(join(cwd, "deep er")) || undefined;
  };
  await eventually(inFolder, "the directory of the program");
  const bytes = Uint8Array.from({ length: MAX_BYTES }, (_, index) => index * 7);
  const name = "ein Bild's „Name“.html";
  expect(await upload(asOwner, id, name, bytes)).toMatchObject({ status: 201, json: { size: MAX_BYTES } });
  for (const path of [name, join(cwd, "deep er", name)]) {
    const answer = await download(asOwner, id, path);
    expect(Buffer.compare(answer.bytes, bytes)).toBe(0);
    expect(answer.headers).toMatchObject({
      "content-type": "application/octet-stream",
      "content-length": `${MAX_BYTES}`,
      "content-disposition": `attachment; filename="ein Bild_s _Name_.html"; filename*=UTF-8''ein%20Bild%27s%20%E2%80%9EName%E2%80%9C.html`,
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("sandbox"),
    });
  }
  const audit = new AuditLog(server.controlDir);
  const of = (action: string) => audit.line((line) => line.action === action && line.session === id, action);
  expect(await of("file.download")).toMatchObject({
    ...{ result: "ok", details: { path: name, size: MAX_BYTES } },
  });
  const sizes = (await audit.lines()).filter(({ action }) => action === "file.upload");
  const path = join(cwd, "deep er", name);
  expect(sizes.at(-1)).toMatchObject({ result: "ok", details: { name, path, size: MAX_BYTES } });
});

test("only regular files are opened, and the answer names any other", async () => {
  const cwd = await folder();
  await run("mkfifo", [join(cwd, "fifo")]);
  await symlink(join(cwd, "fifo"), join(cwd, "link"));
  const id = await session(asOwner, cwd);
  const answers = await Promise.all(
    ["fifo", "link", ".", "/dev/zero", "none", "fifo/x"].map((path) => download(asOwner, id, path)),
  );
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
    ...Array(4).fill([400, "not_a_file"]),
    ...Array(2).fill([404, "file_not_found"]),
  ]);
  expect(answers[4]?.json.error).toContain(join(cwd, "none"));
});

test("a file over the limit is refused, announced or not, and nothing of it stays", async () => {
  const cwd = await folder();
  const id = await session(asOwner, cwd);
  const bytes = new Uint8Array(MAX_BYTES + 1);
  expect(await upload(asOwner, id, "big", bytes)).toMatchObject({
    status: 413,
    json: { code: "body_too_large", error: expect.stringContaining("big is too large") },
  });
  const inChunks = await fetch(`${server.url}/api/sessions/${id}/files?name=big`, {
    ...{ method: "POST", headers: bearer(token), body: new Blob([bytes]).stream(), duplex: "half" },
  });
  expect([inChunks.status, await inChunks.json()]).toMatchObject([413, { code: "body_too_large" }]);
  expect(await readdir(cwd)).toEqual([]);
});

test("a connection that is cut halfway leaves nothing behind, and the audit log tells of it", async () => {
  const cwd = await folder();
  const id = await session(asOwner, cwd);
  const socket = await openConnection(server.url);
  const head = [
    `POST /api/sessions/${id}/files?name=half HTTP/1.1`,
    `Host: ${new URL(server.url).host}`,
    `Authorization: ${bearer(token).authorization}`,
    "Content-Length: 100000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${"x".repeat(50_000)}`);
  const begun = async () => {
    const [draft] = await readdir(cwd);
    return (draft !== undefined && (await stat(join(cwd, draft))).size > 0) || undefined;
  };
  await eventually(begun, "the first half on the disk");
  socket.destroy();
  await once(socket, "close");
  await eventually(async () => (await readdir(cwd)).length === 0 || undefined, "an empty folder");
  const line = await new AuditLog(server.controlDir).line(
    ({ action, session: of }) => action === "file.upload" && of === id,
    "the upload",
  );
  expect(line).toMatchObject({ result: "failed", details: { name: "half" } });
});

test("an unread download is closed", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "large"), "");
  await truncate(join(cwd, "large"), 2 ** 40);
  const id = await session(asOwner, cwd);
  const many = Array.from({ length: 12 }, () =>
    asOwner(`/api/sessions/${id}/files?path=large`, { isHeadEnough: true }),
  );
  for (const { status } of await Promise.all(many)) expect([200, 429]).toContain(status);
  // Ended transfers free their slots.
  const isFree = async () => {
    const answer = await asOwner(`/api/sessions/${id}/files?path=large`, { isHeadEnough: true });
    return answer.status === 200 || undefined;
  };
  await eventually(isFree, "room for a download");
});

test("an ended session accepts no file but returns one; a guest, a narrow token and a stranger get none", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "result"), "42");
  const ended = await session(asOwner, cwd, ["true"]);
  await asOwner(`/api/sessions/${ended}/recording`);
  expect(await upload(asOwner, ended, "a")).toMatchObject({ json: { code: "session_not_running" } });
  expect((await download(asOwner, ended, "result")).text).toBe("42");

  const id = await session(asOwner, cwd);
  const share = await asOwner(`/api/sessions/${id}/share`, { body: { mode: "type", expiresIn: 600 } });
  const guest = /#share=(.+)$/.exec(share.json.url)?.[1] ?? "";
  const scope = ["sessions:view", "sessions:control"];
  const made = await asOwner("/api/auth/tokens", { body: { name: "narrow", scope, expiresIn: 600 } });
  for (const some of [guest, made.json.token]) {
    const asSome: Asks = (path, question) => askAs(some, server, path, question);
    expect((await asSome(`/api/sessions/${id}`)).status).toBe(200);
    expect(await upload(asSome, id, "a")).toMatchObject({ status: 403, json: { code: "forbidden" } });
    expect(await download(asSome, id, "result")).toMatchObject({ status: 403 });
  }
  expect((await upload((path, question) => ask(server.url, path, question), id, "a")).status).toBe(401);
  expect(await readdir(cwd)).toEqual(["result"]);
});

test("with --max-upload 0 there is no file transfer", async () => {
  await using off = await TestServer.start({
    args: ["--no-auth", "--session-host", "inline", "--max-upload", "0"],
  });
  const asks: Asks = (path, question) => ask(off.url, path, question);
  const id = await session(asks, await folder());
  for (const answer of [await upload(asks, id, "a"), await download(asks, id, "a")])
    expect(answer).toMatchObject({ status: 403, json: { error: expect.stringContaining("--max-upload") } });
  expect((await asks("/api/auth/verify")).json.permissions).not.toContain("sessions:files");
});

test("through an HQ files reach the session's machine, which has its own limit", async () => {
  await using fleet = await TestFleet.start({ remotes: 0, dials: true });
  await fleet.add("worker-1", { args: ["--max-upload", "100kB"] });
  await fleet.joined("worker-1");
  const asks: Asks = (path, question) => fleet.ask(path, question);
  const cwd = await folder();
  const { id } = await fleet.create("worker-1", { command: ["cat"], cwd });
  const bytes = new Uint8Array(100_000).fill(65);
  const path = join(cwd, "a.txt");
  expect(await upload(asks, id, "a.txt", bytes)).toMatchObject({ status: 201, json: { path } });
  expect((await download(asks, id, "a.txt")).text).toBe("A".repeat(100_000));
  const tooLarge = await upload(asks, id, "b.txt", new Uint8Array(100_001));
  expect(tooLarge).toMatchObject({ status: 413, json: { code: "body_too_large" } });
  // The machine sees the refusal as a cut connection.
  const isClean = async () => (await readdir(cwd)).join() === "a.txt" || undefined;
  await eventually(isClean, "nothing of the other file");
  const line = await new AuditLog(fleet.hq.controlDir).line(({ action }) => action === "file.upload", "it");
  expect(line).toMatchObject({ remote: "worker-1", result: "ok", details: { path, size: 100_000 } });
});

test.runIf(isRoot)("a full disk is named, and nothing of the file stays", async () => {
  await using disk = await SmallDisk.make(1024 * 1024);
  const cwd = join(disk.path, "in");
  await mkdir(cwd);
  const id = await session(asOwner, cwd);
  await disk.fill();
  const answer = await upload(asOwner, id, "a", new Uint8Array(MAX_BYTES));
  expect(answer).toMatchObject({
    status: 507,
    json: { error: expect.stringContaining(`the disk of ${cwd}`) },
  });
  expect(await readdir(cwd)).toEqual([]);
  await asOwner(`/api/sessions/${id}`, { method: "DELETE" });
});

test.runIf(isRoot)(
  "of a server that is root, files are opened as the session's user, whoever asks",
  async () => {
    await using people = await People.make();
    await using rooted = await people.server();
    const [one, other, admin] = [people.one, people.other, people.admin].map((name) => {
      const person = Person.named(rooted, name);
      const asks: Asks = (path, question) => person.ask(path, question);
      return asks;
    });
    if (!one || !other || !admin) throw new Error("there are three");
    const cwd = await folder();
    await chmod(cwd, 0o777);
    const secret = join(await folder(), "secret");
    await writeFile(secret, "of root", { mode: 0o600 });
    await symlink(secret, join(cwd, "link"));
    const id = await session(one, cwd);

    const uid = Number((await run("id", ["-u", people.one])).stdout);
    for (const asks of [one, admin]) {
      const { json } = await upload(asks, id, "a.txt");
      expect((await stat(json.path)).uid).toBe(uid);
    }
    for (const path of [secret, "link", "/proc/1/environ", join(rooted.controlDir, "jwt-secret")])
      expect([path, (await download(admin, id, path)).json.code]).toEqual([path, "forbidden"]);
    expect(await upload(other, id, "a.txt")).toMatchObject({
      status: 404,
      json: { code: "session_not_found" },
    });
    expect(await download(other, id, "a.txt")).toMatchObject({
      status: 404,
      json: { code: "session_not_found" },
    });
    // The worker may not write in places that are forbidden to its user.
    await chmod(cwd, 0o755);
    expect(await upload(one, id, "b.txt")).toMatchObject({ status: 403, json: { code: "forbidden" } });
    expect((await readdir(cwd)).sort()).toEqual(["a-2.txt", "a.txt", "link"]);
  },
);
