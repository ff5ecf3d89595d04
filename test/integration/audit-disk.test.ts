// A full disk under the audit log: the service continues, and missing lines are counted.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { AuditLog } from "./harness/audit-log.ts";
import { ttyhq } from "./harness/command.ts";
import { askAs, logIn, passwordServer } from "./harness/password-server.ts";
import { SmallDisk } from "./harness/small-disk.ts";
import { metric } from "./harness/test-fleet.ts";

test("on a full disk no line is torn, lost lines are counted, and the service keeps running", async () => {
  await using disk = await SmallDisk.make(256 * 1024);
  const path = join(disk.path, "audit.log");
  await using server = await passwordServer("inline", { args: ["--audit-log", path] });
  const token = await logIn(server);
  const { json } = await askAs(token, server, "/api/sessions", { body: { command: ["cat"] } });
  const rename = async (): Promise<number> => {
    const body = { name: "n".repeat(200) };
    return (await askAs(token, server, `/api/sessions/${json.id}`, { method: "PATCH", body })).status;
  };
  // All but the last page, which the log has started.
  const ballast = join(disk.path, "ballast");
  await writeFile(ballast, Buffer.alloc(1024 * 1024)).catch(() => undefined);
  const lost = () => metric(server, "ttyhq_audit_lines_lost_total");
  const statuses = new Set<number>();
  await eventually(async () => {
    statuses.add(await rename());
    return (await lost()) > 5 || undefined;
  }, "lost lines");
  expect([...statuses]).toEqual([200]);
  const audit = new AuditLog(server.controlDir, path);
  // An incomplete line is in the file for a moment.
  const before = await eventually(() => audit.lines().catch(() => undefined), "whole lines");
  await rm(ballast);
  expect(await rename()).toBe(200);
  await eventually(async () => (await lost()) === (await gaps(audit)) || undefined, "the gap in the log");
  const after = await audit.lines();
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.at(-1)).toMatchObject({ action: "session.rename", result: "ok" });
  const args = ["audit", "verify", "--control-dir", server.controlDir, "--audit-log", path];
  expect(await ttyhq(args)).toMatchObject({ code: 0, stdout: expect.stringMatching(/unbroken/) });
  await server.logged("audit log written again");
  const told = server.log.split("\n").filter((line) => line.includes("audit log"));
  expect(told.map((line) => JSON.parse(line).message)).toEqual([
    "audit log not written: lines are lost",
    "audit log written again",
  ]);
});

/** The number of missing lines, according to the log itself. */
async function gaps(audit: AuditLog): Promise<number> {
  const gaps = (await audit.wholeLines()).filter(({ action }) => action === "audit.gap");
  return gaps.reduce((sum, { details }) => sum + Number(details?.lost), 0);
}
