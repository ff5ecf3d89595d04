// Sessions of system users, in a container whose server is root (contract 5.7).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { builtImage } from "./built-image.ts";
import { BUILD_TIMEOUT_MS } from "./docker.ts";
import { makeUsers, SystemContainer, type SystemUser } from "./system-container.ts";

/** alice is in the group team, and has limits and a variable from the system. */
const PREPARE = `
${makeUsers("alice", "bob", "gone", "late", "moved", "greedy", "homeless")}
groupadd --gid 20000 team && usermod --append --groups team alice
{ echo 'alice soft nofile 1500'; echo 'alice hard nofile 2000'; echo 'alice - core 0'; } >>/etc/security/limits.conf
{ echo 'greedy - memlock unlimited'; echo 'greedy soft nofile 77'; } >>/etc/security/limits.conf
echo 'OF_THE_SYSTEM="for all"' >>/etc/environment
rm -r /home/homeless
mkdir -m 700 /srv/root /srv/bob && mkdir -m 750 /srv/team && chgrp team /srv/team && chown bob /srv/bob
echo secret >/srv/root/secret
printf '#!/bin/sh\\necho ran\\n' >/usr/local/bin/for-root && chmod 700 /usr/local/bin/for-root
printf '#!/bin/sh\\necho ran\\n' >/usr/local/bin/for-team && chmod 750 /usr/local/bin/for-team && chgrp team /usr/local/bin/for-team
export SSH_AUTH_SOCK=/root/agent SUDO_USER=eve XDG_RUNTIME_DIR=/run/user/0 OF_ROOT=private LC_TIME=C.UTF-8
umask 077
`;
/** The oldest: a program that the host starts has its command line for a moment. */
const HOST_PID = "$(pgrep -of 'main.js [s]ession-host')";

let container: SystemContainer;
let alice: SystemUser;

beforeAll(async () => {
  await builtImage();
  container = await SystemContainer.start({ prepare: PREPARE });
  alice = await container.as("alice");
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await container?.[Symbol.asyncDispose]();
});

const script = (text: string) => ({ command: ["sh", "-c", text] });

describe("a session of somebody who logged in", () => {
  test("has that user's ids and groups, and no power of root's", async () => {
    expect(await alice.output(script("id -u; id -g; id -Gn | tr ' ' '\\n' | sort"))).toBe(
      `${await container.sh("id -u alice; id -g alice")}\nalice\nteam`,
    );
    const uid = await container.sh("id -u alice");
    const status = await alice.output(script("grep -E '^(Uid|Cap(Inh|Prm|Eff|Amb))' /proc/self/status"));
    expect(status.split("\n").map((line) => line.split(/\s+/).slice(1))).toEqual([
      Array(4).fill(uid),
      ...Array(4).fill(["0000000000000000"]),
    ]);
  });

  test("has its terminal open and nothing else", async () => {
    const open = await alice.output(script("for fd in /proc/$$/fd/*; do readlink $fd; done"));
    expect(new Set(open.split("\n")).size).toBe(1);
    expect(open).toMatch(/^(\/dev\/pts\/\d+\n?){3}$/);
  });

  test("has the limits that PAM sets for that user, and the umask of a login", async () => {
    expect(await alice.output(script("ulimit -Sn; ulimit -Hn; ulimit -Hc; umask"))).toBe(
      "1500\n2000\n0\n0022",
    );
    const bob = await container.as("bob");
    expect(await bob.output(script("ulimit -Sn"))).toBe("1024");
  });

  test("has what the machine grants of limits beyond that", async () => {
    const greedy = await container.as("greedy");
    expect(await greedy.output(script("ulimit -Sn; ulimit -Sl"))).toBe(
      `77\n${await container.sh("ulimit -Hl")}`,
    );
  });

  test("has that user's environment and nothing of root's", async () => {
    const { id } = await alice.create({
      ...script("env | sort"),
      env: { ASKED: "for", PATH: "/usr/bin:/bin" },
      cols: 200,
    });
    await alice.ended(id);
    expect((await alice.send("GET", `/api/sessions/${id}/text`)).text.trimEnd().split("\n")).toEqual([
      ...["ASKED=for", "COLORTERM=truecolor", "HOME=/home/alice", "LANG=C.UTF-8", "LC_TIME=C.UTF-8"],
      ...[
        "LOGNAME=alice",
        "OF_THE_SYSTEM=for all",
        "PATH=/usr/bin:/bin",
        "PWD=/home/alice",
        "SHELL=/bin/bash",
      ],
      ...["TERM=xterm-256color", `TTYHQ_SESSION_ID=${id}`, "USER=alice"],
    ]);
    expect(await alice.output(script("echo $PATH"))).toBe(
      "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
    );
  });

  test("is that user's login shell at home unless something else was asked for", async () => {
    const { id, command, cwd } = await alice.create({});
    expect({ command, cwd }).toEqual({ command: ["/bin/bash", "-l"], cwd: "/home/alice" });
    await alice.send("POST", `/api/sessions/${id}/input`, { text: "echo $0 $HOME; exit 3\r" });
    expect((await alice.ended(id)).exitCode).toBe(3);
    expect((await alice.send("GET", `/api/sessions/${id}/text`)).text).toContain("/bin/bash /home/alice");
    const homeless = await container.as("homeless");
    expect((await homeless.create(script("exit"))).cwd).toBe("/");
  });

  test("owns its terminal, which others may only send messages to", async () => {
    const { id } = await alice.create(script("tty; stat --format '%U %G %a' $(tty); echo >/dev/tty && cat"));
    await alice.shows(id, "alice tty 620");
    const tty = /\/dev\/pts\/\d+/.exec((await alice.send("GET", `/api/sessions/${id}/text`)).text)?.[0];
    const bob = await container.as("bob");
    expect(await bob.output(script(`echo typed >${tty}; head -c 1 <${tty}`))).toBe(
      `sh: 1: cannot create ${tty}: Permission denied\nsh: 1: cannot open ${tty}: Permission denied`,
    );
  });

  test("cannot read what is root's, or another user's", async () => {
    const files = [
      ...[
        "/etc/shadow",
        "/srv/root/secret",
        "/srv/bob/x",
        "/data/.ttyhq/jwt-secret",
        "/data/.ttyhq/host.sock",
      ],
      ...["/data/.ttyhq/sessions", "/proc/1/environ", `/proc/${HOST_PID}/environ`, `/proc/${HOST_PID}/mem`],
      ...[`/proc/${HOST_PID}/fd/0`, `/proc/${HOST_PID}/cwd/`],
    ];
    const said = await alice.output(
      script(files.map((file) => `cat ${file} 2>&1 | grep -v 'Permission denied'`).join(";")),
    );
    expect(said).toBe("");
    expect(
      await alice.output(
        script(
          `kill -9 ${HOST_PID} 1; node -e 'require("net").connect("/data/.ttyhq/host.sock")' 2>&1 | grep -o EACCES | head -n 1`,
        ),
      ),
    ).toMatch(/not permitted[\s\S]*EACCES$/);
  });
});

describe("variables of the request", () => {
  test("act on the program, and on no process that still runs as root", async () => {
    const env = {
      LD_SHOW_AUXV: "1",
      LD_PRELOAD: "/home/alice/x.so",
      GLIBC_TUNABLES: "glibc.malloc.check=3",
      BASH_ENV: "x",
    };
    const said = await alice.output({ command: ["/bin/true"], env });
    const uid = await container.sh("id -u alice");
    expect(said.match(/^AT_E?UID: +\d+$/gm)?.map((line) => line.split(/ +/)[1])).toEqual([uid, uid]);
    expect(said.match(/cannot be preloaded/g)).toHaveLength(1);
  });

  test("cannot say as whom it runs", async () => {
    for (const account of ["root", "bob", ""]) {
      expect(await alice.output({ ...script("id -un"), account, owner: "root" })).toBe("alice");
    }
  });
});

describe("directories and programs", () => {
  test.each([
    ["a directory that only root may enter", "/srv/root", "no permission to enter the directory"],
    ["a directory in one that only root may enter", "/data/.ttyhq/sessions", "no such directory"],
    ["another user's directory", "/srv/bob", "no permission to enter the directory"],
    ["a file", "/etc/passwd", "not a directory"],
    ["what is not there", "~/nowhere", "no such directory"],
  ])("%s is no place for a session", async (_, cwd, problem) => {
    const { status, json } = await alice.send("POST", "/api/sessions", { cwd, command: ["true"] });
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { code: "invalid_cwd", error: expect.stringContaining(problem) },
    });
  });

  test.each(["for-root", "/usr/local/bin/for-root", "./x", "no-such-program", "/usr/local/bin"])(
    "%s is no program for a user who may not run it",
    async (program) => {
      const { status, json } = await alice.send("POST", "/api/sessions", { command: [program] });
      expect({ status, json }).toMatchObject({ status: 400, json: { code: "command_not_found" } });
    },
  );

  test("files that only a group lets a user read are usable", async () => {
    expect(await alice.output({ command: ["for-team"], cwd: "/srv/team" })).toBe("ran");
    const bob = await container.as("bob");
    expect((await bob.send("POST", "/api/sessions", { command: ["for-team"] })).status).toBe(400);
    expect((await bob.send("POST", "/api/sessions", { cwd: "/srv/team" })).status).toBe(400);
  });

  test("the home of ~ is the user's, and paths count from there", async () => {
    await container.sh("runuser -u alice -- mkdir -p /home/alice/dev");
    for (const cwd of ["~/dev", "dev", "/home/alice/dev"]) {
      expect(await alice.output({ command: ["pwd"], cwd })).toBe("/home/alice/dev");
    }
  });
});

describe("the program", () => {
  test("ends with its own code, or by its signal", async () => {
    for (const exitCode of [0, 1, 13, 125, 126, 127]) {
      const { id } = await alice.create(script(`exit ${exitCode}`));
      expect(await alice.ended(id)).toMatchObject({ exitCode, exitReason: "exit" });
    }
    const { id } = await alice.create(script("kill -USR1 $$"));
    expect(await alice.ended(id)).toMatchObject({
      exitCode: 138,
      exitSignal: "SIGUSR1",
      exitReason: "signal",
    });
  });

  test("is the process that the record names, leads its session, and has the terminal to control it", async () => {
    const { id, pid } = await alice.create(script("ps -o pid=,pgid=,sid=,tpgid= -p $$; cat"));
    await alice.shows(id, ` ${pid}`);
    const [line = ""] = (await alice.send("GET", `/api/sessions/${id}/text`)).text.trim().split("\n");
    expect(line.trim().split(/\s+/).map(Number)).toEqual([pid, pid, pid, pid]);
  });

  test("is resized, signalled and ended with all its jobs", async () => {
    const { id, pid } = await alice.create(
      script("trap 'stty size' WINCH; sleep 1000 & echo ready; while :; do wait; done"),
    );
    await alice.shows(id, "ready");
    await alice.send("POST", `/api/sessions/${id}/resize`, { cols: 91, rows: 33 });
    await alice.shows(id, "33 91");
    await alice.send("DELETE", `/api/sessions/${id}`);
    expect(await alice.ended(id)).toMatchObject({ exitReason: "signal", exitSignal: "SIGHUP" });
    const isGone = async (): Promise<true | undefined> =>
      (await container.sh(`ps -o args= -s ${pid} || echo none`)) === "none" ? true : undefined;
    await eventually(isGone, "the end of its jobs");
    const other = await alice.create({ command: ["cat"] });
    await alice.send("POST", `/api/sessions/${other.id}/kill`, { signal: "SIGTERM" });
    expect(await alice.ended(other.id)).toMatchObject({ exitSignal: "SIGTERM" });
  });
});

describe("a user who may not log in any more", () => {
  test.each([
    ["whose account has expired", "late", "chage --expiredate 1 late", "the account has expired"],
    ["who lost the shell", "moved", "usermod --shell /usr/sbin/nologin moved", "is not one to log in with"],
    ["who is gone", "gone", "userdel gone", "there is no user"],
  ])("%s starts nothing with an old login", async (_, name, change, reason) => {
    const user = await container.as(name);
    expect(await user.output({ command: ["whoami"] })).toBe(name);
    await container.sh(change);
    const { status, json } = await user.send("POST", "/api/sessions", { command: ["true"] });
    expect({ status, json }).toMatchObject({
      status: 403,
      json: { code: "forbidden", error: expect.stringContaining(reason) },
    });
  });
});

test("root's own sessions stay root's, and no user sees them or another user's", async () => {
  const { id } = await alice.create({ command: ["cat"] });
  const bob = await container.as("bob");
  expect((await bob.send("GET", `/api/sessions/${id}`)).status).toBe(404);
  await container.sh("echo 'root:pa55 wörd' | chpasswd");
  const root = await container.as("root");
  expect(await root.output(script("id -un; echo $OF_ROOT"))).toBe("root\nprivate");
  expect((await root.record(id)).owner).toBe("alice");
});

test("a host that is lost takes its users' programs along, and the next one has their sessions and starts others", async () => {
  const { id, pid } = await alice.create(script("trap '' HUP; echo ready; while :; do sleep 1; done"));
  await alice.shows(id, "ready");
  // Answered when everything so far is on the disk, which viewers do not wait for.
  await alice.send("GET", `/api/sessions/${id}/recording?follow=0`);
  await container.sh(`kill -9 ${HOST_PID}`);
  expect(await alice.ended(id)).toMatchObject({ exitReason: "host_lost", owner: "alice" });
  expect(await alice.output(script("id -un"))).toBe("alice");
  expect((await alice.send("GET", `/api/sessions/${id}/text`)).text).toContain("ready");
  expect(
    await container.sh(`timeout 10 sh -c 'while kill -0 ${pid} 2>/dev/null; do sleep 0.1; done'; echo over`),
  ).toBe("over");
  expect(await container.sh("find /data/.ttyhq ! -user root")).toBe("");
});
