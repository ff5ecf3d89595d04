import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { examined, type Part } from "../../../../../src/cli/commands/machine/upgrade.ts";
import { fakeServer } from "../../fake-server.ts";
import { ran } from "../../run-cli.ts";

const of = (name: string, version: string | undefined, more: Partial<Part> = {}): Part => ({
  ...{ name, version, protocol: 2 },
  ...more,
});
const HQ = { name: "HQ", version: "0.3.0", protocol: 2 };
const statuses = (...parts: readonly Part[]) =>
  examined(parts).parts.map(({ name, status }) => `${name} ${status}`);

test("equal versions work together, and nothing has to be updated", () => {
  const parts = [
    of("remote a", "0.3.0", { peer: HQ }),
    of("HQ", "0.3.0"),
    of("this command", "0.3.0", { peer: HQ }),
  ];
  expect(statuses(...parts)).toEqual(["remote a current", "HQ current", "this command current"]);
  expect(examined(parts).order).toEqual([]);
});

test("an HQ and its remotes work together one minor version apart, whichever is newer", () => {
  expect(statuses(of("remote a", "0.2.9", { peer: HQ }), of("HQ", "0.3.0"))).toEqual([
    "remote a behind",
    "HQ current",
  ]);
  expect(statuses(of("remote a", "0.4.0", { peer: HQ }), of("HQ", "0.3.0"))).toEqual([
    "remote a current",
    "HQ behind",
  ]);
  for (const version of ["0.1.9", "0.5.0", "1.3.0"])
    expect(statuses(of("remote a", version, { peer: HQ }))).toEqual(["remote a incompatible"]);
});

test("a session host needs the revision of its server's protocol, whatever its version", () => {
  const host = (version: string, protocol: number) =>
    of("session host", version, { protocol, peer: HQ, isBound: true });
  expect(statuses(host("0.1.0", 2), of("HQ", "0.3.0"))).toEqual(["session host behind", "HQ current"]);
  expect(statuses(host("0.2.0", 1), of("HQ", "0.3.0"))).toEqual(["session host incompatible", "HQ current"]);
});

test("updates begin with the oldest, and leave out other programs and those that do not answer", () => {
  const { parts, order } = examined([
    of("remote new", "0.3.0", { peer: HQ }),
    of("remote old", "0.1.0", { peer: HQ }),
    of("remote silent", undefined, { peer: HQ }),
    of("remote foreign", "1.0.0-beta.15", { protocol: undefined, peer: HQ }),
    of("HQ", "0.3.0"),
    of("this command", "0.2.5", { peer: HQ }),
  ]);
  expect(order).toEqual(["remote old", "this command"]);
  expect(parts.map(({ status }) => status)).toEqual([
    ...["current", "incompatible", "unreachable", "foreign", "current", "behind"],
  ]);
});

test("a session host that does not answer is reported, and is not taken for none", async () => {
  const health = { version: "1.2.3", protocol: 1, mode: "standalone" };
  await using server = await fakeServer(() => ({ status: 200, body: health }));
  const check = ["upgrade", "--check", "--json", "--control-dir", server.controlDir];
  expect((await ran(check)).exitCode).toBe(0);
  await using host = createServer((socket) => socket.destroy());
  await once(host.listen(join(server.controlDir, "host.sock")), "listening");
  const { exitCode, stdout } = await ran(check);
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout).parts).toContainEqual(
    expect.objectContaining({ name: "session host", status: "unreachable" }),
  );
});
