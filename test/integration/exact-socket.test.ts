import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdtempDisposable, symlink } from "node:fs/promises";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { socketAgent } from "../../src/remote/exact-socket.ts";

/** The status of an answer over the socket at that path. */
async function ask(socketPath: string, platform: NodeJS.Platform): Promise<number | undefined> {
  using agent = Object.assign(socketAgent({ socketPath, noFollow: true }, {}, platform), {
    [Symbol.dispose]: () => agent.destroy(),
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const asked = request({ agent, host: "localhost", path: "/" }, (answer) => resolve(answer.statusCode));
  asked.once("error", reject);
  asked.end();
  return await promise;
}

test.each<NodeJS.Platform>(["linux", "darwin"])(
  "on %s a socket of this user answers, and a link to it does not",
  async (platform) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-socket-"));
    const path = join(folder.path, "socket");
    const server = createServer((_, answer) => answer.writeHead(204).end()).listen(path);
    await once(server, "listening");
    await symlink(path, join(folder.path, "link"));
    expect(await ask(path, platform)).toBe(204);
    await expect(ask(join(folder.path, "link"), platform)).rejects.toThrow("symbolic links are not followed");
    await expect(ask(join(folder.path, "none"), platform)).rejects.toThrow("ENOENT");
    server.close();
  },
);

test.runIf(process.getuid?.() === 0)(
  "without Linux's descriptors of sockets, the process that answers has to be this user's as well",
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-socket-"));
    await chmod(folder.path, 0o777);
    const path = join(folder.path, "socket");
    const script = `require("node:http").createServer((_, answer) => answer.end()).listen(${JSON.stringify(path)}, () => console.log("up"))`;
    const stranger = spawn(process.execPath, ["-e", script], { uid: 54_321, gid: 54_321 });
    await once(stranger.stdout, "data");
    await chown(path, 0, 0);
    await expect(ask(path, "darwin")).rejects.toThrow(`the socket ${path} belongs to another user (54321)`);
    stranger.kill("SIGKILL");
    await once(stranger, "exit");
  },
);
