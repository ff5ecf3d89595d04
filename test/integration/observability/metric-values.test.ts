// /metrics after known actions: a server, a remote and its HQ, compared with the docs.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { Follower } from "../harness/follower.ts";
import { ask } from "../harness/http.ts";
import { logIn, PASSWORD, passwordServer } from "../harness/password-server.ts";
import { killIfThere } from "../harness/processes.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { Rest } from "../harness/rest.ts";
import { Scrape } from "../harness/scrape.ts";
import { basic, TestFleet } from "../harness/test-fleet.ts";
import { TestServer } from "../harness/test-server.ts";

const run = promisify(execFile);
const PAGE = fileURLToPath(new URL("../../../docs/observability.md", import.meta.url));

/** The output of `promtool check metrics`, empty without problems. */
async function complaints(text: string): Promise<string> {
  const checking = run("promtool", ["check", "metrics"]);
  checking.child.stdin?.end(text);
  const { stdout, stderr } = await checking.catch((error: unknown) => ({
    stdout: "",
    stderr: String(error),
  }));
  return `${stdout}${stderr}`;
}

/** Names of the first column of the tables in docs/observability.md. */
async function documented(): Promise<readonly string[]> {
  const page = await readFile(PAGE, "utf8");
  return [...page.matchAll(/^\| `(ttyhq_[a-z_]+)`/gm)].map(([, name = ""]) => name).sort();
}

describe("a server", () => {
  let server: TestServer;
  let before: Scrape;
  let sessionIds: readonly string[];

  beforeAll(async () => {
    server = await TestServer.start();
    before = await Scrape.of(server.url);
    const rest = new Rest(server);
    const quiet = await rest.run("cat");
    const talking = await rest.run("printf 0123456789");
    await rest.ended(talking.id);
    sessionIds = [quiet.id, talking.id];
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("tells how many sessions there are, and what became of all that were started", async () => {
    const now = await Scrape.of(server.url);
    expect(now.value("ttyhq_sessions", { status: "running" })).toBe(1);
    expect(now.value("ttyhq_sessions", { status: "exited" })).toBe(1);
    expect(now.value("ttyhq_sessions_started_total") - before.value("ttyhq_sessions_started_total")).toBe(2);
    expect(now.value("ttyhq_sessions_ended_total")).toBe(1);
    expect(now.value("ttyhq_terminal_output_bytes_total")).toBe(10);
    expect(now.value("ttyhq_journal_write_duration_seconds_count")).toBeGreaterThan(0);
    expect(now.value("ttyhq_journal_failures_total")).toBe(0);
  });

  test("counts who watches, and what is typed and shown", async () => {
    const [id = ""] = sessionIds;
    const idle = await Scrape.of(server.url);
    using socket = server.connect();
    using follower = Follower.attach(socket, id);
    await socket.opened(30_000);
    await socket.write(id, new TextEncoder().encode("hello\n"));
    await follower.shows(/hello\s+hello/);
    const now = await Scrape.of(server.url);
    expect([
      now.value("ttyhq_clients"),
      now.value("ttyhq_viewers"),
      now.value("ttyhq_sessions_watched"),
    ]).toEqual([1, 1, 1]);
    expect(now.value("ttyhq_terminal_input_bytes_total")).toBe(6);
    for (const direction of ["in", "out"]) {
      for (const name of ["ttyhq_websocket_frames_total", "ttyhq_websocket_bytes_total"])
        expect(now.value(name, { direction })).toBeGreaterThan(idle.value(name, { direction }));
    }
    expect(now.value("ttyhq_viewer_lag_max_bytes")).toBe(0);
    expect(now.value("ttyhq_viewer_lag_sum_bytes")).toBe(0);
  });

  test("counts requests by the template of their path, and by what came of them", async () => {
    const counted = async (endpoint: string, method: string, status: string): Promise<number> => {
      const kind = { endpoint, method, status };
      const { samples } = await Scrape.of(server.url);
      const all = samples.filter(
        ({ name, labels }) =>
          name === "ttyhq_http_requests_total" && JSON.stringify(labels) === JSON.stringify(kind),
      );
      return all[0]?.value ?? 0;
    };
    const kinds = [
      ["/api/sessions/:id", "GET", "2xx"],
      ["/api/sessions/:id", "GET", "4xx"],
      ["other", "GET", "4xx"],
      ["other", "other", "4xx"],
    ] as const;
    const earlier = await Promise.all(
      kinds.map(([endpoint, method, status]) => counted(endpoint, method, status)),
    );
    await ask(server.url, `/api/sessions/${sessionIds[0]}`);
    await ask(server.url, "/api/sessions/no-such-session");
    await ask(server.url, "/api/no-such-thing");
    await ask(server.url, "/api/no-such-thing", { method: "PROPFIND" });
    await eventually(async () => {
      const now = await Promise.all(
        kinds.map(([endpoint, method, status]) => counted(endpoint, method, status)),
      );
      return now.every((count, index) => count === (earlier[index] ?? 0) + 1) || undefined;
    }, "one more of each kind");
    const now = await Scrape.of(server.url);
    expect(now.value("ttyhq_http_request_duration_seconds_count", { endpoint: "/api/sessions/:id" })).toBe(
      now.value("ttyhq_http_requests_total", { endpoint: "/api/sessions/:id" }),
    );
  });

  test("tells what there is of what has a limit", async () => {
    const now = await Scrape.of(server.url);
    for (const [used, limit] of [
      ["ttyhq_connections", "ttyhq_connections_limit"],
      ["ttyhq_process_open_fds", "ttyhq_process_max_fds"],
      ["ttyhq_host_process_open_fds", "ttyhq_host_process_max_fds"],
      ["ttyhq_system_terminals", "ttyhq_system_terminals_limit"],
      ["ttyhq_disk_free_bytes", "ttyhq_disk_size_bytes"],
    ] as const) {
      expect([used, now.value(used)]).toEqual([used, expect.any(Number)]);
      expect(now.value(used)).toBeGreaterThan(0);
      expect(now.value(limit)).toBeGreaterThan(now.value(used));
    }
  });

  test("tells which program it is, since when, and how late it is", async () => {
    const later = await eventually(async () => {
      const scrape = await Scrape.of(server.url);
      return scrape.value("ttyhq_event_loop_lag_seconds_count") > 0 ? scrape : undefined;
    }, "a look at the event loop");
    expect(later.value("ttyhq_build_info", { mode: "standalone" })).toBe(1);
    expect(later.value("ttyhq_host_build_info", { mode: "session-host" })).toBe(1);
    for (const name of ["ttyhq_process_start_time_seconds", "ttyhq_host_process_start_time_seconds"]) {
      expect(later.value(name)).toBeGreaterThan(Date.now() / 1000 - 600);
      expect(later.value(name)).toBeLessThanOrEqual(Date.now() / 1000 + 1);
    }
  });

  test("no label holds the id of a session, nor anything else that there is no end of", async () => {
    const { samples } = await Scrape.of(server.url);
    const words = new Set(samples.flatMap(({ labels }) => Object.values(labels)));
    for (const id of sessionIds) expect([...words].filter((word) => word.includes(id))).toEqual([]);
    expect([...words].filter((word) => /[0-9a-f]{8}-|127\.0\.0\.1|no-such/.test(word))).toEqual([]);
  });

  test("without its session host it tells everything else, and that", async () => {
    await using apart = await TestServer.start();
    const host = await apart.hostPid();
    killIfThere(host, "SIGSTOP");
    using _continued = { [Symbol.dispose]: () => killIfThere(host, "SIGCONT") };
    const now = await Scrape.of(apart.url);
    expect(now.value("ttyhq_host_up")).toBe(0);
    expect(now.names).toContain("ttyhq_clients");
    expect(now.names).not.toContain("ttyhq_journal_failures_total");
  });
});

test("logins are counted by method and by what came of them, and refusals by their limit", async () => {
  await using server = await passwordServer("inline", { args: ["--rate-limit-api", "4"] });
  await logIn(server);
  for (const password of ["wrong", "wrong too"])
    await ask(server.url, "/api/auth/token", { body: { password } });
  const token = await logIn(server);
  const headers = { authorization: `Bearer ${token}` };
  for (let count = 0; count < 6; count++) await ask(server.url, "/api/sessions", { headers });
  const now = await Scrape.of(server);
  expect(now.value("ttyhq_logins_total", { method: "password", result: "ok" })).toBe(2);
  expect(now.value("ttyhq_logins_total", { method: "password", result: "refused" })).toBe(2);
  expect(now.value("ttyhq_rate_limited_total", { limit: "api" })).toBe(2);
  expect(now.value("ttyhq_audit_lines_total")).toBeGreaterThan(0);
  expect(now.text).not.toContain(PASSWORD);
  expect(now.names).toContain("ttyhq_journal_failures_total");
  expect(now.names).not.toContain("ttyhq_host_up");
});

test("beyond the limit of failed logins each is counted as such", async () => {
  await using server = await passwordServer("inline");
  for (let count = 0; count < 12; count++)
    await ask(server.url, "/api/auth/token", { body: { password: `wrong ${count}` } });
  const now = await Scrape.of(server);
  expect(now.value("ttyhq_logins_total", { method: "password", result: "refused" })).toBe(10);
  expect(now.value("ttyhq_logins_total", { method: "password", result: "limited" })).toBe(2);
  expect(now.value("ttyhq_rate_limited_total", { limit: "failed_logins" })).toBe(2);
});

test("an HQ that shares its registry tells whether that can be reached", async () => {
  await using redis = await RedisServer.start();
  const env = {
    TTYHQ_REGISTRY_URL: redis.url,
    TTYHQ_JWT_SECRET: "a secret of at least 32 bytes, as it were",
  };
  await using hq = await TestServer.start({ args: ["--hq", "--no-auth"], env });
  const connected = async (): Promise<number> => (await Scrape.of(hq.url)).value("ttyhq_registry_connected");
  const becomes = async (wanted: number): Promise<true> =>
    await eventually(async () => (await connected()) === wanted || undefined, `a registry that is ${wanted}`);
  await becomes(1);
  await redis.stop({ isDataKept: true });
  await becomes(0);
  await redis.resume();
  await becomes(1);
});

describe("a fleet", () => {
  let fleet: TestFleet;
  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 2, isGuarded: true });
  });
  afterAll(() => fleet[Symbol.asyncDispose]());

  test("its HQ tells of registrations, of uplinks and of what the remotes answer", async () => {
    await fleet.create("worker-1", { command: ["cat"] });
    await ask(fleet.hq.url, "/api/remotes", { headers: { authorization: basic("nobody") } });
    const now = await eventually(async () => {
      const scrape = await Scrape.of(fleet.hq);
      const isThere = scrape.value("ttyhq_probes_total", { result: "alive" }) >= 2;
      return isThere && scrape.value("ttyhq_uplinks") === 2 ? scrape : undefined;
    }, "a look at both remotes");
    expect(now.value("ttyhq_remotes")).toBe(2);
    expect([now.value("ttyhq_registry_connected"), now.value("ttyhq_remotes_unstored")]).toEqual([1, 0]);
    expect(now.value("ttyhq_registrations_total", { result: "new" })).toBe(2);
    expect(now.value("ttyhq_registrations_total", { result: "refused" })).toBe(0);
    expect(now.value("ttyhq_probe_duration_seconds_count")).toBe(now.value("ttyhq_probes_total"));
    expect(now.value("ttyhq_probes_total", { result: "silent" })).toBe(0);
    expect(now.value("ttyhq_remotes_removed_total")).toBe(0);
    expect(now.value("ttyhq_logins_total", { method: "basic", result: "refused" })).toBe(1);
    expect(now.value("ttyhq_sessions", { status: "running" })).toBe(1);
    expect(now.value("ttyhq_build_info", { mode: "hq" })).toBe(1);
  });

  test("a remote tells whether its HQ knows it", async () => {
    const now = await Scrape.of(fleet.remote("worker-1"));
    expect(now.value("ttyhq_registered")).toBe(1);
    expect(now.value("ttyhq_registration_attempts_total", { result: "ok" })).toBeGreaterThan(0);
    expect(now.value("ttyhq_clients")).toBe(1);
    expect(now.value("ttyhq_build_info", { mode: "remote" })).toBe(1);
  });

  test("the docs list exactly the metrics that any of them has", async () => {
    await using watched = await TestServer.start({ args: ["--no-auth", "--canary"] });
    const withCanary = await eventually(async () => {
      const scrape = await Scrape.of(watched);
      return scrape.samples.some(({ name }) => name === "ttyhq_canary_round_trip_seconds")
        ? scrape
        : undefined;
    }, "an answer of the canary");
    expect(withCanary.value("ttyhq_bytes_lost_total")).toBe(0);
    const scrapes = await Promise.all(
      [fleet.hq, fleet.remote("worker-1")].map((server) => Scrape.of(server)),
    );
    scrapes.push(withCanary);
    const shown = [...new Set(scrapes.flatMap(({ names }) => names))].sort();
    expect(shown).toEqual(await documented());
    for (const { text } of scrapes) expect(await complaints(text)).toBe("");
    for (const name of shown) expect(name).toMatch(/^ttyhq_[a-z0-9_]+$/);
  });
});
