// Logins with the passwords of system users, checked by PAM in containers with such users.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { builtImage, ROOT } from "./built-image.ts";
import { BUILD_TIMEOUT_MS } from "./docker.ts";
import { attempts, expectRefused } from "./login-attempts.ts";
import { makeUsers, PASSWORD, SystemContainer } from "./system-container.ts";

const USERS = `
${makeUsers("alice", "bob", "locked", "expired", "stale", "noshell", "restricted", "blank", "jürgen")}
passwd --lock locked
chage --expiredate 1 expired
chage --lastday 0 stale
usermod --shell /usr/sbin/nologin noshell
usermod --shell /bin/rbash restricted
passwd --delete blank
`.replace(
  "useradd --create-home --shell /bin/bash jürgen",
  "useradd --badname --create-home --shell /bin/bash jürgen",
);

/** PAM never completes for bob. */
const HANGING = `
printf '#!/bin/sh\\n[ "$PAM_USER" != bob ] || exec sleep 1000\\n' >/usr/local/bin/hang && chmod +x /usr/local/bin/hang
sed -i '1a auth required pam_exec.so /usr/local/bin/hang' /etc/pam.d/ttyhq
`;

const RULES = readFileSync(`${ROOT}packaging/pam.d/ttyhq`, "utf8");

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

describe("a server that is root", () => {
  test("logs users of the system in, and nobody else", async () => {
    await using container = await SystemContainer.start({ prepare: USERS });
    expect((await container.get("/api/auth/config")).json).toMatchObject({
      passwordMode: "system",
      disallowUserPassword: false,
    });
    const right = await container.logIn(
      attempts(["alice", PASSWORD], ["bob", PASSWORD], ["jürgen", PASSWORD]),
    );
    expect(right.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(right.map(({ text }) => JSON.parse(text).user)).toMatchObject(["alice", "bob", "jürgen"]);

    const accounts = ["locked", "expired", "stale", "noshell", "restricted", "blank", "nobody", "root"];
    const names = [
      "0",
      "10002",
      "Alice",
      "alice ",
      " alice",
      "alice\0",
      "alice\n",
      "alice:x",
      "-alice",
      "",
      "a".repeat(256),
    ];
    const passwords = [
      "wrong",
      "",
      `${PASSWORD}\0`,
      `${PASSWORD} `,
      PASSWORD.normalize("NFD"),
      "\0",
      "x".repeat(1_024),
    ];
    expectRefused(await container.logIn(attempts(...accounts.map((name) => [name, PASSWORD] as const))));
    expectRefused(await container.logIn(attempts(...names.map((name) => [name, PASSWORD] as const))));
    expectRefused(
      await container.logIn(
        attempts(...passwords.map((each) => ["bob", each] as const), ["blank", ""], ["blank", "any"]),
      ),
    );

    const { stdout, stderr } = await container.logs();
    expect(`${stdout}${stderr}`).not.toContain(PASSWORD);
  });

  test("lets in who knows a password while others are guessed", async () => {
    // More than may ask PAM at a time, but on a busy machine few enough that none waits for too long.
    const [last, ...crowd] = ["u1", "u2", "u3"] as const;
    await using container = await SystemContainer.start({ prepare: makeUsers("alice", last, ...crowd) });
    const guesses = (name: string) => Array.from({ length: 10 }, (_, n) => [name, `${n}`] as const);
    const [outcomes, [right]] = await Promise.all([
      container.logIn(attempts(...crowd.flatMap(guesses))),
      container.logIn(attempts(["alice", PASSWORD])),
    ]);
    expectRefused(outcomes);
    expect(right?.status).toBe(200);
    // A failure counts for a minute.
    expectRefused(await container.logIn(attempts(...guesses(last))));
    const [limited] = await container.logIn(attempts([last, PASSWORD]));
    expect(limited?.status).toBe(429);
  });

  test("serves while PAM hangs, gives up on it, and asks it again", async () => {
    await using container = await SystemContainer.start({ prepare: `${USERS}\n${HANGING}` });
    const alice = await container.as("alice");
    const said = await alice.output({ command: ["echo", "to a file"] });
    // As many as may ask at a time, and more than the threads for files.
    const hanging = container.logIn(attempts(...Array.from({ length: 8 }, () => ["bob", PASSWORD] as const)));
    await container.hasProcesses(8, "sleep 1000");
    expect(await alice.output({ command: ["echo", "to a file"] })).toBe(said);
    expect((await container.get("/")).status).toBe(200);
    expect((await hanging).map(({ status }) => status)).toEqual(Array(8).fill(500));
    const [right] = await container.logIn(attempts(["alice", PASSWORD]));
    expect(right?.status).toBe(200);
  });

  test("asks PAM again after the process that asks was killed", async () => {
    await using container = await SystemContainer.start({ prepare: USERS });
    const first = await container.logIn(attempts(["alice", PASSWORD]));
    await container.sh("pkill -9 -f 'account-[w]orker'");
    const second = await container.logIn(attempts(["alice", PASSWORD]));
    expect([...first, ...second].map(({ status }) => status)).toEqual([200, 200]);
    expect(
      await container.sh(
        "cat /proc/$(pgrep -n -f 'account-[w]orker')/environ | tr '\\0' '\\n' | grep -v ^NODE_CHANNEL | sort",
      ),
    ).toBe("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
  });

  test.each([
    ["the system's own rules where there are none for it, and says so", "rm /etc/pam.d/ttyhq", true],
    ["the rules that come with it for other systems", `cat >/etc/pam.d/ttyhq <<'END'\n${RULES}END`, false],
  ])("goes by %s", async (_, rules, isWarned) => {
    await using container = await SystemContainer.start({ prepare: `${USERS}\n${rules}` });
    const [right] = await container.logIn(attempts(["alice", PASSWORD]));
    expect(right?.status).toBe(200);
    const refused = attempts(
      ["alice", "wrong"],
      ["blank", "any"],
      ["expired", PASSWORD],
      ["noshell", PASSWORD],
    );
    expectRefused(await container.logIn(refused));
    await container.logged('"reason":"the account has no password, so that PAM would accept any"');
    const { stderr } = await container.logs();
    expect(stderr.includes("there is no /etc/pam.d/ttyhq")).toBe(isWarned);
  });
});

test("a server that is not root checks the password of its own user alone, and says so", async () => {
  // As on every Debian; the image contains no set-uid program.
  const helper = "chgrp shadow /usr/sbin/unix_chkpwd && chmod g+s /usr/sbin/unix_chkpwd";
  const prepare = `${makeUsers("alice")}\necho 'ttyhq:${PASSWORD}' | chpasswd\n${helper}`;
  const command = "runuser -u ttyhq -- /usr/local/lib/ttyhq/entrypoint serve";
  await using container = await SystemContainer.start({ prepare, command, args: ["--allow-user", "alice"] });
  await container.logged("PAM checks only the password of ttyhq");
  const [own] = await container.logIn(attempts(["ttyhq", PASSWORD]));
  expect(own?.status).toBe(200);
  expectRefused(await container.logIn(attempts(["ttyhq", "wrong"], ["alice", PASSWORD], ["root", PASSWORD])));
});

describe("where the program that asks PAM is missing", () => {
  const prepare = `${makeUsers("alice")}\nrm /opt/ttyhq/prebuilds/linux-*/ttyhq-pam`;

  test("a server without another way to log in does not start, and says how to get out of that", async () => {
    const { code, stderr } = await SystemContainer.refused({ prepare });
    expect(code).toBe(1);
    for (const way of [
      "ttyhq-pam",
      "libpam0g-dev",
      "npm ci",
      "SERVICE_USERNAME",
      "--enable-ssh-keys",
      "--login-link",
      "--no-auth",
    ]) {
      expect(stderr).toContain(way);
    }
  });

  test("a server with another way to log in says so, and refuses passwords", async () => {
    await using container = await SystemContainer.start({ prepare, args: ["--login-link"] });
    await container.logged("ttyhq-pam");
    expect((await container.get("/api/auth/config")).json).not.toHaveProperty("passwordMode");
    const [refused] = await container.logIn(attempts(["alice", PASSWORD]));
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining("password_disabled") });
  });
});
