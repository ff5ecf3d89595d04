// Access to the server's files, sockets and environment is denied to others (contract 2.1, 5.5, 9).
import { chmod, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Follower } from "./harness/follower.ts";
import { askAs, logIn, PASSWORD, passwordServer, TOKEN_SECRET, USERNAME } from "./harness/password-server.ts";

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

test("sockets, secrets, logs and recordings are their owner's alone, in a directory that is so too", async () => {
  await using server = await passwordServer("apart", { asProcess: true });
  const token = await logIn(server);
  const { json } = await askAs(token, server, "/api/sessions", { body: { command: ["echo", "done"] } });
  using socket = server.connect(token);
  using follower = Follower.attach(socket, json.id);
  await follower.exit();
  await askAs(token, server, "/api/auth/logout", { method: "POST" });
  const modes = new Map<string, string>();
  for (const entry of await readdir(server.controlDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const mode = await modeOf(path).catch((error: NodeJS.ErrnoException) => {
      // A temporary file may have been renamed by now.
      if (error.code === "ENOENT" && entry.name.endsWith(".tmp")) return undefined;
      throw error;
    });
    if (mode === undefined) continue;
    modes.set(path.slice(server.controlDir.length + 1), `${mode}${entry.isDirectory() ? " d" : ""}`);
  }
  expect(await modeOf(server.controlDir)).toBe("700");
  for (const name of ["server.sock", "host.sock", "host.log", "jwt-secret", "logins.json"]) {
    expect([name, modes.get(name)]).toEqual([name, "600"]);
  }
  expect(modes.get(`sessions/${json.id}`)).toBe("700 d");
  expect([...modes.values()].filter((mode) => !/^[67]00/.test(mode))).toEqual([]);
});

test("a control directory and a secret that others could read are closed when the server starts", async () => {
  await using server = await passwordServer("inline", { asProcess: true });
  const secret = join(server.controlDir, "jwt-secret");
  const before = await readFile(secret);
  await server.kill("SIGTERM");
  await chmod(server.controlDir, 0o755);
  await chmod(secret, 0o644);
  await server.restart();
  expect([await modeOf(server.controlDir), await modeOf(secret)]).toEqual(["700", "600"]);
  await server.logged("token secret was open to others, now closed");
  expect((await readFile(secret)).equals(before)).toBe(true);
});

test("neither a session nor the session host has the server's variables", async () => {
  const passed = { TTYHQ_X: "mark-x", TTYHQ_TOKEN: "mark-token", SERVICE_PORT: "mark-kept" };
  const env = { TTYHQ_JWT_SECRET: TOKEN_SECRET, ...passed };
  await using server = await passwordServer("apart", { asProcess: true, env });
  const token = await logIn(server);
  const request = { command: ["env"], env: { ASKED_FOR: "mark-asked" } };
  const { json } = await askAs(token, server, "/api/sessions", { body: request });
  using socket = server.connect(token);
  using follower = Follower.attach(socket, json.id);
  await follower.exit();
  const host = await readFile(`/proc/${await server.hostPid()}/environ`, "utf8");
  const session = new Map(variables(follower.text.split("\r\n")));
  for (const text of [host, follower.text]) {
    for (const secret of [PASSWORD, TOKEN_SECRET, "mark-x", "mark-token"]) expect(text).not.toContain(secret);
  }
  expect(ownNames(new Map(variables(host.split("\0"))))).toEqual([]);
  expect(ownNames(session)).toEqual(["TTYHQ_SESSION_ID"]);
  expect(session.get("TTYHQ_SESSION_ID")).toBe(json.id);
  expect(session.get("SERVICE_PORT")).toBe("mark-kept");
  expect(session.get("ASKED_FOR")).toBe("mark-asked");
  expect(JSON.stringify(await commandLine(await server.hostPid()))).not.toContain(USERNAME);
});

function variables(lines: readonly string[]): [name: string, value: string][] {
  return lines.map((line) => {
    const [name = "", ...value] = line.split("=");
    return [name, value.join("=")];
  });
}

function ownNames(env: ReadonlyMap<string, string>): string[] {
  return [...env.keys()].filter((name) => /^TTYHQ_|^SERVICE_(USERNAME|PASSWORD)/.test(name));
}

async function commandLine(pid: number): Promise<readonly string[]> {
  return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
}
