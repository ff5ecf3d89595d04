// Follows "Start" of docs/hq.md literally, on machines where nothing uses PAM.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtempDisposable,
  readFile,
  symlink,
  writeFile,
} from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { ask } from "../harness/http.ts";
import { Installation } from "../harness/installation.ts";
import { OpensslAuthority } from "../harness/openssl-authority.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

test("an HQ and a remote start as the guide says, and the remote needs no login of its own", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-guide-"));
  await using authority = await OpensslAuthority.make();
  const at = (...names: readonly string[]): string => join(directory.path, ...names);
  await installWithoutPam(directory.path);
  const port = await freePort();
  // Only names of places are changed; everything else is the guide's.
  const here = (line: string): string =>
    line.replace("/run/secrets/hq", at("secret")).replace("hq.example.com:4020", `localhost:${port}`);
  const [startHq = "", createToken = "", startRemote = ""] = (await commandsOfGuide()).map(here);
  await writeFile(at("secret"), "correct horse\n", { mode: 0o600 });
  const trust = { NODE_EXTRA_CA_CERTS: authority.certFile };
  await using hq = await Computer.make(at("hq"), at("bin"), { ...trust, TTYHQ_PORT: `${port}` });
  await using remote = await Computer.make(at("remote"), at("bin"), { ...trust, TTYHQ_PORT: "0" });
  for (const [computer, name, address] of [
    ["hq", "hq", "localhost"],
    ["remote", "build-1", hostname()],
  ] as const) {
    const issued = await authority.issue({ subject: `/CN=${name}`, names: `DNS:${address}` });
    await copyFile(issued.certFile, at(computer, `${name}.pem`));
    await copyFile(issued.keyFile, at(computer, `${name}.key`));
    await chmod(at(computer, `${name}.key`), 0o600);
  }

  hq.start(startHq);
  await hq.says(/\bhttps:\/\//);
  const { code, stdout } = await hq.run(createToken);
  expect(code).toBe(0);
  await writeFile(at("remote", "join-token"), stdout, { mode: 0o600 });
  remote.start(startRemote);
  const remotes = await eventually(async () => {
    if (remote.hasEnded) throw new Error(`the remote does not start: ${remote.output}`);
    const { json } = await ask("http://hq", "/api/remotes", { socketPath: hq.socket });
    return Array.isArray(json) && json.length > 0 ? json : undefined;
  }, "the remote at its HQ");
  expect(remotes).toMatchObject([{ name: "build-1" }]);
  expect(remote.output).toContain("login with system passwords is off");
});

/** The shell commands of that section. */
async function commandsOfGuide(): Promise<readonly string[]> {
  const [, start = ""] =
    /\n## Start\n([\s\S]*?)\n## /.exec(await readFile(join(ROOT, "docs/hq.md"), "utf8")) ?? [];
  const blocks = [...start.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.trimEnd().split("\n"));
}

/** The program as `npm ci` installs it without PAM's headers, and a folder for PATH. */
async function installWithoutPam(directory: string): Promise<void> {
  const [program, bin] = [join(directory, "program"), join(directory, "bin")];
  for (const folder of [bin, join(program, "build/Release")]) await mkdir(folder, { recursive: true });
  await cp(join(ROOT, "dist"), join(program, "dist"), { recursive: true });
  for (const name of ["ttyhq.node", "ttyhq-run-as"])
    await copyFile(join(ROOT, "build/Release", name), join(program, "build/Release", name));
  await copyFile(join(ROOT, "package.json"), join(program, "package.json"));
  await symlink(join(ROOT, "node_modules"), join(program, "node_modules"));
  const script = `#!/bin/sh\nexec ${process.execPath} ${join(program, "dist/main.js")} "$@"\n`;
  await writeFile(join(bin, "ttyhq"), script, { mode: 0o755 });
}

/** A home directory and its commands. Disposal ends them. */
class Computer implements AsyncDisposable {
  output = "";
  hasEnded = false;
  readonly #home: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #scope = new AsyncDisposableStack();
  readonly #heard = new Set<() => void>();

  private constructor(home: string, env: Readonly<Record<string, string>>) {
    this.#home = home;
    this.#env = env;
    this.#scope.use(new Installation(join(home, ".ttyhq")));
  }

  static async make(home: string, bin: string, more: Readonly<Record<string, string>>): Promise<Computer> {
    await mkdir(home);
    return new Computer(home, { HOME: home, PATH: `${bin}:${process.env.PATH}`, ...more });
  }

  get socket(): string {
    return join(this.#home, ".ttyhq/server.sock");
  }

  /** Starts a long-running command. */
  start(line: string): void {
    const child = spawn("sh", ["-c", line], {
      ...{ cwd: this.#home, env: this.#env, detached: true },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(child, "close");
    void ended.then(() => {
      this.hasEnded = true;
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        this.output += chunk;
        for (const listener of this.#heard) listener();
      });
    }
    this.#scope.defer(async () => {
      // The shell and its program, which form a group.
      if (child.pid !== undefined && !this.hasEnded) process.kill(-child.pid, "SIGTERM");
      await ended;
    });
  }

  /** Runs a command to its end. */
  async run(line: string): Promise<{ readonly code: number | null; readonly stdout: string }> {
    const child = spawn("sh", ["-c", line], {
      ...{ cwd: this.#home, env: this.#env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [[code], stdout] = await Promise.all([once(child, "close"), text(child.stdout)]);
    return { code, stdout };
  }

  async says(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.output)) {
      if (this.hasEnded) throw new Error(`it has ended: ${this.output}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#heard.add(resolve);
      await promise;
      this.#heard.delete(resolve);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.disposeAsync();
  }
}
