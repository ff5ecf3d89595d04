import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { buildImage, builtImage, IMAGE } from "./built-image.ts";
import { BUILD_TIMEOUT_MS, docker, run } from "./docker.ts";
import { ServerContainer } from "./server-container.ts";

const MAX_IMAGE_BYTES = 400_000_000;

const Inspected = z.object({
  Size: z.int(),
  Config: z.object({
    User: z.string(),
    StopSignal: z.string(),
    Labels: z.record(z.string(), z.string()),
    Healthcheck: z.object({ Test: z.array(z.string()) }),
  }),
});

const KILL_SERVER = "pkill -9 -f '^node /usr/local/bin/ttyhq serve'";
const ORPHANS = "for n in 1 2 3 4 5; do (setsid sleep 0.2 &); done; echo done; exec sleep 60";

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

describe("what is in the image", () => {
  test("it is under 400 MB, says what it is, runs as a number and stops at SIGTERM", async () => {
    const [image] = z.array(Inspected).parse(JSON.parse(await docker("image", "inspect", IMAGE)));
    expect(image?.Size).toBeLessThan(MAX_IMAGE_BYTES);
    expect(image?.Config).toMatchObject({
      User: "10001:10001",
      StopSignal: "SIGTERM",
      Healthcheck: { Test: ["CMD", "ttyhq", "health"] },
      Labels: {
        "org.opencontainers.image.title": "ttyhq",
        "org.opencontainers.image.version": (await run("docker", ["run", "--rm", IMAGE, "--version"])).stdout,
      },
    });
  });

  test("the image has the users' tools, and no build tools", async () => {
    expect(
      await inImage("for p in bash git ssh tmux ps less; do command -v $p || echo no $p; done"),
    ).not.toContain("no ");
    const built =
      "for p in gcc cc g++ c++ make python3 npm npx; do command -v $p; done; ls /usr/local/include";
    expect(await inImage(built)).toBe("");
    expect(await inImage("ls /opt/ttyhq")).toBe("LICENSE\ndist\npackage.json\nprebuilds\nsbom.cdx.json");
    expect(await inImage("locale charmap")).toBe("UTF-8");
  });

  test("no file makes whoever runs it somebody else, and none can be written to by everybody", async () => {
    const found = (what: string): Promise<string> =>
      docker("run", "--rm", "--user", "0", "--entrypoint", "sh", IMAGE, "-c", `find / -xdev ${what}`);
    expect(await found("-type f -perm /6000")).toBe("");
    // Except for shared folders in which no user can remove another's files.
    const open = String.raw`! -type l -perm -o=w ! \( -type d -perm -1000 \) ! -path '/dev/*' ! -path '/proc/*'`;
    expect(await found(open)).toBe("");
  });

  test("nothing tells of the site that built it", async () => {
    const left =
      "ls -A /run/secrets /var/lib/apt/lists; find / -xdev -name '*npmrc' -o -xdev -name .package-lock.json; cat /etc/apt/sources.list | grep -v deb.debian.org";
    expect(await inImage(`(${left}) 2>/dev/null || true`)).toBe("/run/secrets:\n\n/var/lib/apt/lists:");
  });

  test("a build argument adds packages", { timeout: BUILD_TIMEOUT_MS }, async () => {
    const name = `ttyhq:test-${randomUUID()}`;
    await buildImage(name, ["--build-arg", "PACKAGES=tree"]);
    try {
      expect(await docker("run", "--rm", "--entrypoint", "tree", name, "--version")).toMatch(/^tree v/);
    } finally {
      await docker("rmi", name);
    }
  });
});

describe("a container of it", () => {
  test("runs sessions where only /data and /tmp can be written to, and is healthy", async () => {
    await using container = await ServerContainer.start({ docker: ["--health-interval", "1s"] });
    const { id } = await container.create({
      command: ["sh", "-c", "touch /x; echo kept > ~/kept; id -u; cat"],
    });
    await container.shows(id, "10001");
    await container.shows(id, "Read-only file system");
    expect(await container.sh("cat /data/kept")).toBe("kept");
    expect(await container.sh("ttyhq ls")).toContain(id);
    const healthy = async (): Promise<true | undefined> =>
      (await container.inspect("{{.State.Health.Status}}")) === "healthy" ? true : undefined;
    await eventually(healthy, "the health of the container");
  });

  test("reaps what programs leave behind", async () => {
    await using container = await ServerContainer.start();
    const { id } = await container.create({ command: ["bash", "-c", ORPHANS] });
    await container.shows(id, "done");
    const reaped = async (): Promise<true | undefined> =>
      /sleep 0\.2|<defunct>/.test(await container.sh("ps -eo args")) ? undefined : true;
    await eventually(reaped, "the end of the orphans");
  });

  test("starts a server again that was killed, and its sessions go on", async () => {
    await using container = await ServerContainer.start();
    const { id, pid } = await container.create({ command: ["cat"] });
    for (let kill = 1; kill <= 3; kill++) {
      await container.sh(KILL_SERVER);
      await container.answers();
      await container.send("POST", `/api/sessions/${id}/input`, { text: `after ${kill}\r` });
      await container.shows(id, `after ${kill}\nafter ${kill}`);
    }
    expect((await container.send("GET", `/api/sessions/${id}`)).json).toMatchObject({
      pid,
      status: "running",
    });
  });

  test("ends with 0 when it is stopped, and its sessions have ended in good order", async () => {
    const volume = `ttyhq-test-${randomUUID()}`;
    try {
      await stopWithSession(volume);
      await using container = await ServerContainer.start({ volume });
      expect((await container.send("GET", "/api/sessions/stopped")).json).toMatchObject({
        status: "exited",
        exitSignal: "SIGHUP",
      });
      expect(await container.sh("tail -n 2 ~/.ttyhq/sessions/stopped/recording.cast")).toContain("goodbye");
    } finally {
      await docker("volume", "rm", "--force", volume);
    }
  });

  test("ends with the code of a server that cannot start, and says why", async () => {
    expect(await run("docker", ["run", "--rm", IMAGE, "serve", "--hq"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--hq needs credentials"),
    });
    expect(
      await run("docker", ["run", "--rm", "--env", "HOME=/opt/home", IMAGE, "serve", "--no-auth"]),
    ).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("user 10001 cannot write to /opt/home"),
    });
  });

  test("runs any other command in place of the server", async () => {
    expect(await run("docker", ["run", "--rm", IMAGE, "ls"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no server answers in /data/.ttyhq"),
    });
  });
});

/** The output of a script in a container of the image. */
function inImage(script: string): Promise<string> {
  return docker("run", "--rm", "--entrypoint", "sh", IMAGE, "-c", script);
}

async function stopWithSession(volume: string): Promise<void> {
  await using container = await ServerContainer.start({ volume });
  const script = "trap 'echo goodbye; trap - HUP; kill -HUP $$' HUP; echo ready; while :; do sleep 0.1; done";
  await container.create({ id: "stopped", command: ["sh", "-c", script] });
  await container.shows("stopped", "ready");
  await docker("stop", container.name);
  expect(await container.inspect("{{.State.ExitCode}}")).toBe("0");
}
