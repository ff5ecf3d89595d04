import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { ClusterReport } from "../../../../src/cli/cluster/cluster.ts";
import { hqPlan, remotePlans } from "../../../../src/cli/cluster/plan.ts";
import { clusterOptions, reportJson, reportText } from "../../../../src/cli/cluster/up.ts";
import type { Cli } from "../../../../src/cli/process-context.ts";
import { runCli } from "../../../../src/cli/program.ts";
import { ConfigError } from "../../../../src/config/config-error.ts";

const FLAGS = { remotes: 2, port: 4020 };

function cliOf(members: Partial<Cli> = {}): Cli {
  const unwanted = (): never => {
    throw new Error("nothing was to be started");
  };
  const stream = (): PassThrough => new PassThrough();
  return {
    ...{ argv: [], env: {}, cwd: "/work", home: "/home/me", user: "me", hostname: "box", version: "1.2.3" },
    ...{ program: { node: "/no/node", main: "/no/main.js" } },
    ...{ stdin: stream(), stdout: stream(), stderr: stream() },
    ...{ startServer: unwanted, startSessionHost: unwanted, ensureHost: unwanted, reportFaults: unwanted },
    ...members,
  };
}

describe("the machines of a cluster", () => {
  const env = { PATH: "/bin", TTYHQ_PORT: "1", SERVICE_PASSWORD: "mine", TTYHQ_HQ_URL: "https://other" };
  const credentials = { username: "ada", password: "s3cret" };
  const joinToken = "a join token of at least 32 bytes";
  const options = { controlDir: "/c", port: 4020, remotes: 3, credentials, joinToken, env };
  const hq = hqPlan(options);
  const remotes = remotePlans(options, "http://127.0.0.1:4020");

  test("have a name and a control directory of their own", () => {
    expect([hq, ...remotes].map(({ name, controlDir, port }) => [name, controlDir, port])).toEqual([
      ["hq", "/c/hq", 4020],
      ["remote-1", "/c/remote-1", 0],
      ["remote-2", "/c/remote-2", 0],
      ["remote-3", "/c/remote-3", 0],
    ]);
  });

  test("listen on loopback only, and end with the process that started them", () => {
    for (const { args } of [hq, ...remotes]) {
      expect(args.join(" ")).toContain("--bind 127.0.0.1");
      expect(args).toContain("--stop-with-input");
    }
  });

  test("get secrets in their environment, not as arguments, and join with the token alone", () => {
    for (const { env: own } of [hq, ...remotes]) {
      expect(own).toEqual({
        ...{ PATH: "/bin", TTYHQ_JOIN_TOKEN: joinToken },
        ...{ SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "s3cret" },
      });
    }
    const args = [hq, ...remotes].flatMap((plan) => plan.args).join(" ");
    expect(args).not.toContain("s3cret");
    expect(args).not.toContain(joinToken);
    expect(hq.args).toContain("--no-basic-join");
  });
});

describe("the options of a cluster", () => {
  test("put the cluster into this user's control directory, with new credentials", () => {
    const options = clusterOptions(FLAGS, cliOf());
    expect(options).toMatchObject({ controlDir: "/home/me/.ttyhq/up", port: 4020, remotes: 2 });
    expect(options.credentials.password).toHaveLength(32);
    expect(clusterOptions(FLAGS, cliOf()).credentials).not.toEqual(options.credentials);
    const env = { TTYHQ_CONTROL_DIR: "/srv/t" };
    expect(clusterOptions(FLAGS, cliOf({ env })).controlDir).toBe("/srv/t/up");
    expect(clusterOptions({ ...FLAGS, controlDir: "c" }, cliOf({ env })).controlDir).toBe("/work/c");
  });

  test("are rejected when the socket paths of the last remote are too long", () => {
    const controlDir = `/${"x".repeat(70)}`;
    expect(() => clusterOptions({ ...FLAGS, remotes: 9, controlDir }, cliOf())).not.toThrow();
    expect(() => clusterOptions({ ...FLAGS, remotes: 10, controlDir }, cliOf())).toThrow(ConfigError);
  });

  test.each([
    ["--remotes", "0"],
    ["--remotes", "51"],
    ["--remotes", "two"],
    ["--port", "65536"],
  ])("reject %s %s", async (...flags) => {
    const stderr = new PassThrough();
    expect(await runCli(cliOf({ argv: ["up", ...flags], stderr }))).toBe(2);
    expect(String(stderr.read())).toMatch(/^ttyhq: option '.*' is invalid\. It must be a whole number from /);
  });
});

describe("the report of a running cluster", () => {
  const machine = (name: string, port: number) => ({
    ...{ name, url: `http://127.0.0.1:${port}`, controlDir: `/c/${name}` },
  });
  const report: ClusterReport = {
    loginLink: "http://127.0.0.1:4020/#login=t",
    credentials: { username: "ada", password: "s3cret" },
    servers: [machine("hq", 4020), machine("remote-1", 5001)],
  };

  test("is a table for a person, without the password", () => {
    expect(reportText(report, { seconds: 2.34, width: undefined })).toBe(
      [
        "an HQ and 1 remote, up in 2.3 s",
        "log in with this link, once and within 10 minutes: http://127.0.0.1:4020/#login=t",
        "",
        "MACHINE   ADDRESS                CONTROL DIRECTORY",
        "hq        http://127.0.0.1:4020  /c/hq",
        "remote-1  http://127.0.0.1:5001  /c/remote-1",
        "",
        "another link: ttyhq login-link --control-dir /c/hq",
        "Ctrl-C ends all of it, the programs in its sessions included",
        "",
      ].join("\n"),
    );
  });

  test("is one line with everything for a script", () => {
    const text = reportJson(report);
    expect(text.indexOf("\n")).toBe(text.length - 1);
    expect(JSON.parse(text)).toEqual({
      ...{ event: "up", url: "http://127.0.0.1:4020", loginLink: "http://127.0.0.1:4020/#login=t" },
      ...{ username: "ada", password: "s3cret", controlDir: "/c/hq" },
      remotes: [{ name: "remote-1", url: "http://127.0.0.1:5001", controlDir: "/c/remote-1" }],
    });
  });
});
