// The socket of a session host lies in a folder that programs of its sessions may write to.
import { mkdtempDisposable, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSender, type Sender } from "../../../src/remote/send.ts";
import { openLink, type UplinkTarget } from "../../../src/remote/uplink.ts";

const HANDLERS = { onMessage: () => undefined, onClose: () => undefined };

/** A server at the socket `path`, which says how many connections it had. */
async function serverAt(
  path: string,
): Promise<{ readonly connections: () => number; readonly closeIdle: () => void }> {
  let connections = 0;
  const server = createServer((_, response) => response.end("here"));
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  return { connections: () => connections, closeIdle: () => server.closeIdleConnections() };
}

async function ask(target: UplinkTarget): Promise<string> {
  using sender = createSender(target);
  return await askOver(sender);
}

async function askOver(sender: Sender): Promise<string> {
  const signal = AbortSignal.timeout(60_000);
  const { body } = await sender.send({ method: "GET", path: "/", headers: {}, body: undefined, signal });
  return Buffer.concat(await Array.fromAsync(body)).toString();
}

test("a session host is reached at its socket, and not through a symbolic link in its place", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-socket-"));
  const [own, link] = [join(directory.path, "server.sock"), join(directory.path, "host.sock")];
  const { connections } = await serverAt(own);
  await symlink(own, link);
  const target = { socketPath: link, noFollow: true };
  const refusal = { code: "host_unreachable", message: expect.stringContaining(`${link} is not a socket`) };
  await expect(ask(target)).rejects.toMatchObject(refusal);
  await expect(openLink(target, HANDLERS, AbortSignal.timeout(60_000))).rejects.toMatchObject(refusal);
  expect(connections()).toBe(0);
  expect(await ask({ socketPath: own, noFollow: true })).toBe("here");
  await expect(ask({ socketPath: join(directory.path, "none.sock"), noFollow: true })).rejects.toMatchObject({
    code: "host_unreachable",
    message: expect.stringContaining("ENOENT"),
  });
});

test("a request is repeated if its kept connection was closed just before it", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-socket-"));
  const socketPath = join(directory.path, "server.sock");
  const { connections, closeIdle } = await serverAt(socketPath);
  using sender = createSender({ socketPath });
  expect(await askOver(sender)).toBe("here");
  // Sent before this process notices the close.
  closeIdle();
  expect(await askOver(sender)).toBe("here");
  expect(connections()).toBe(2);
});
