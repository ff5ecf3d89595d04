// The install script of node-linux-pam first tries to download a prebuilt binary, which nobody has reviewed.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtempDisposable, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const INSTALLED = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const NAME = "node-linux-pam";

test("installing node-linux-pam downloads no binary, and builds one that loads", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-install-"));
  await using mirror = await Mirror.start();
  const packages = join(directory.path, "node_modules");
  await mkdir(packages);
  for (const name of await readdir(INSTALLED)) {
    if (name !== NAME) await symlink(join(INSTALLED, name), join(packages, name));
  }
  const filter = (path: string): boolean => basename(path) !== "build";
  await cp(join(INSTALLED, NAME), join(packages, NAME), { recursive: true, filter });
  await useMirror(join(packages, NAME, "package.json"), mirror.url);

  await promisify(execFile)("npm", ["run", "install"], { cwd: join(packages, NAME) });

  expect(mirror.connections).toBe(0);
  const { pamAuthenticate } = createRequire(import.meta.url)(join(packages, NAME));
  expect(pamAuthenticate).toBeTypeOf("function");
}, 300_000);

/** Lets the manifest name this host as the source of binaries. */
async function useMirror(path: string, url: string): Promise<void> {
  const manifest = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify({ ...manifest, binary: { ...manifest.binary, host: url } }));
}

/** Accepts no TLS handshake: that anybody connects is all it has to see. */
class Mirror implements AsyncDisposable {
  connections = 0;
  readonly #server = createServer((socket) => {
    this.connections += 1;
    socket.destroy();
  });

  static async start(): Promise<Mirror> {
    const mirror = new Mirror();
    await new Promise<void>((resolve) => void mirror.#server.listen(0, "127.0.0.1", resolve));
    return mirror;
  }

  get url(): string {
    const address = this.#server.address();
    return `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
