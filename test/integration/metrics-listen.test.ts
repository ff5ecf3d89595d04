// Metrics and probes on a separate listener: --metrics-listen.

import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../packages/testing/src/free-port.ts";
import { ttyhq } from "./harness/command.ts";
import { ask, shakeHands } from "./harness/http.ts";
import { passwordServer } from "./harness/password-server.ts";

async function server() {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const started = await passwordServer("inline", { args: ["--metrics-listen", address] });
  return { started, apart: `http://${address}` };
}

test("metrics are served there without a login, probes at both", async () => {
  const { started, apart } = await server();
  await using main = started;
  const metrics = await ask(apart, "/metrics");
  expect([metrics.status, metrics.headers["content-type"]]).toEqual([
    200,
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  for (const name of ["ttyhq_clients", "ttyhq_audit_lines_total", "ttyhq_audit_lines_lost_total"])
    expect(metrics.text).toMatch(new RegExp(`^${name} \\d+$`, "m"));
  expect(await ask(main.url, "/metrics")).toMatchObject({ status: 401, json: { code: "unauthorized" } });
  for (const base of [apart, main.url]) {
    for (const path of ["/livez", "/readyz"])
      expect([base, path, (await ask(base, path)).text]).toEqual([base, path, "ok\n"]);
    expect((await ask(base, "/api/ready")).json).toEqual({ status: "ready" });
  }
});

test("nothing else is served there: no page, no API, no login, no WebSocket", async () => {
  const { started, apart } = await server();
  await using main = started;
  for (const path of ["/", "/index.html", "/icon.svg", "/api/health", "/api/sessions", "/api/auth/config"]) {
    expect([path, (await ask(apart, path)).status]).toEqual([path, 404]);
    expect([path, (await ask(main.url, path)).status]).not.toEqual([path, 404]);
  }
  expect((await ask(apart, "/api/auth/token", { body: { password: "x" } })).status).toBe(404);
  expect(await shakeHands(apart)).toMatchObject({ status: 404, json: { code: "not_found" } });
  expect((await ask(apart, "/metrics", { method: "POST" })).status).toBe(405);
});

test("a port in use is reported with the option that named it", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-"));
  const places = ["--bind", "127.0.0.1", "--port", "0", "--control-dir", folder.path];
  const { code, stderr } = await ttyhq([
    ...["serve", "--no-auth", "--session-host", "inline", ...places],
    ...["--metrics-listen", `127.0.0.1:${port}`],
  ]);
  other.close();
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/port \d+ of 127\.0\.0\.1 is taken: .* with --metrics-listen/),
  ]);
});
