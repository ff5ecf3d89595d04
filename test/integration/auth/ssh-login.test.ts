import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { expect, test } from "vitest";
import type { Answer } from "../harness/http.ts";
import { ask } from "../harness/http.ts";
import type { TestServer } from "../harness/test-server.ts";
import { KeyServer, useKeyServer } from "./key-server.ts";
import { SystemUser } from "./system-user.ts";

const ME = userInfo().username;
const REFUSED = {
  error: "this key does not log that user in, or the challenge was used or has expired: ask for a new one",
  ...{ code: "invalid_credentials", details: {} },
};

/** A server for the tests that do not change its keys and do not read its log. */
const client = useKeyServer();

const verify = (server: TestServer, token: string) =>
  ask(server.url, "/api/auth/verify", { headers: { authorization: `Bearer ${token}` } });

/** The parts of an answer that could reveal information. */
function visible({ status, headers, json }: Answer): object {
  const { date: _, "x-request-id": __, ...others } = headers;
  return { status, headers: others, json };
}

test("a challenge is 32 bytes in base64 under an id, good for five minutes", async () => {
  const keys = client();
  const before = Date.now();
  const { status, json } = await keys.post("challenge", {});
  expect(status).toBe(200);
  expect(json).toEqual({
    challengeId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    challenge: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
    expiresAt: expect.any(Number),
  });
  expect(json.expiresAt).toBeGreaterThanOrEqual(before + 300_000);
  expect(json.expiresAt).toBeLessThanOrEqual(Date.now() + 300_000);
});

test("a key made by ssh-keygen logs in, however it and its signature are spelt, under the new name and the old", async () => {
  const keys = client();
  for (const key of ["line", "blob"] as const) {
    for (const signature of ["raw", "ssh"] as const) {
      const login = await keys.post("ssh-login", await keys.prove(ME, keys.key, { key, signature }));
      expect(login).toMatchObject({ status: 200, json: { expiresIn: 86_400, user: ME } });
      const old = await keys.post("ssh-key", await keys.prove(undefined, keys.key, { key, signature }));
      expect(old).toMatchObject({
        ...{ status: 200, json: { success: true, userId: ME, authMethod: "ssh-key" } },
      });
      for (const { token } of [login.json, old.json]) {
        expect((await verify(keys.server, token)).json).toMatchObject({ valid: true, userId: ME });
      }
    }
  }
});

test("a challenge works once, whether or not the login succeeded", async () => {
  const keys = client();
  const good = await keys.prove();
  expect((await keys.post("ssh-login", good)).status).toBe(200);
  expect(await keys.post("ssh-login", good)).toMatchObject({ status: 401, json: REFUSED });
  expect(await keys.post("ssh-key", good)).toMatchObject({ status: 401, json: REFUSED });
  for (const wrong of [{ signature: "AAAA" }, { publicKey: "ssh-ed25519 AAAA" }]) {
    const proof = await keys.prove();
    expect(await keys.post("ssh-login", { ...proof, ...wrong })).toMatchObject({
      status: 401,
      json: REFUSED,
    });
    expect((await keys.post("ssh-login", proof)).status).toBe(401);
  }
});

test("one of two answers to a challenge at once logs in", async () => {
  const keys = client();
  const proof = await keys.prove();
  const answers = await Promise.all([keys.post("ssh-login", proof), keys.post("ssh-login", proof)]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
});

test("a challenge is for the user it was made for, and a signature for its challenge", async () => {
  const keys = client();
  const [mine, other] = [await keys.prove(), await keys.prove()];
  expect((await keys.post("ssh-login", { ...mine, challengeId: other.challengeId })).status).toBe(401);
  const proof = await keys.prove("daemon");
  expect((await keys.post("ssh-login", { ...proof, userId: ME, username: ME })).status).toBe(401);
});

test("unknown users and users without that key get the same answer in the same time", async () => {
  const keys = client();
  const stranger = await keys.agent.newKey();
  const users = [ME, "daemon", "no-such-user", "0", "-x", "../root", "a\u0000b", "ü".repeat(100)];
  const shapes = new Set<string>();
  const answers: object[] = [];
  for (const [at, user] of users.entries()) {
    const challenge = await keys.post("challenge", { userId: user });
    shapes.add(
      Object.entries(challenge.json)
        .map(([name, value]) => `${name}: ${`${value}`.length}`)
        .join(),
    );
    expect(challenge.status).toBe(200);
    const proof = await keys.prove(user, stranger);
    const startedAt = performance.now();
    answers.push(visible(await keys.post("ssh-login", proof, `127.0.1.${at}`)));
    expect(performance.now() - startedAt).toBeGreaterThan(249);
  }
  expect(shapes.size).toBe(1);
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  expect(answers[0]).toMatchObject({ status: 401, json: REFUSED });
});

test("authorized_keys options, addresses and file modes are enforced", async () => {
  await using keys = await KeyServer.start();
  await keys.authorize(`from="127.0.0.2" ${keys.key}\n`);
  expect((await keys.logIn()).status).toBe(401);
  expect((await keys.logIn(ME, keys.key, "127.0.0.2")).status).toBe(200);
  for (const text of [`command="ls" ${keys.key}\n`, `# ${keys.key}\n`, ""]) {
    await keys.authorize(text);
    expect((await keys.logIn()).status).toBe(401);
  }
  await keys.authorize(`# mine\r\n${keys.key}\r\n`);
  expect((await keys.logIn()).status).toBe(200);
  await chmod(keys.file, 0o666);
  expect((await keys.logIn()).status).toBe(401);
  await keys.server.logged("is writable by others: chmod go-w");
});

test("where keys are off the server refuses them, and says so to whoever asks", async () => {
  for (const args of [[], ["--no-auth"], ["--no-auth", "--enable-ssh-keys"]]) {
    await using keys = await KeyServer.start({ args });
    expect((await ask(keys.server.url, "/api/auth/config")).json.enableSSHKeys).toBe(false);
    const proof = { challengeId: "x", publicKey: keys.key, signature: "AAAA" };
    for (const answer of [
      await keys.post("challenge", { userId: ME }),
      await keys.post("ssh-login", proof),
      await keys.post("ssh-key", proof),
    ]) {
      expect(answer).toMatchObject({ status: 403, json: { code: "ssh_keys_disabled" } });
    }
  }
});

test("with --disallow-user-password keys log in, and no password does, not even the right one", async () => {
  const env = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
  await using keys = await KeyServer.start({ args: ["--disallow-user-password"], env });
  expect((await ask(keys.server.url, "/api/auth/config")).json).toMatchObject({
    ...{ enableSSHKeys: true, disallowUserPassword: true, noAuth: false },
  });
  for (const answer of [
    await keys.post("token", { username: "ada", password: "correct horse" }),
    await keys.post("password", { userId: "ada", password: "correct horse" }),
    await keys.post("token", {}),
  ]) {
    expect(answer).toMatchObject({ status: 403, json: { code: "password_disabled" } });
  }
  expect((await keys.logIn()).json.user).toBe(ME);
});

test("the user with the configured password has the server's keys", async () => {
  const env = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
  await using keys = await KeyServer.start({ env });
  expect((await keys.logIn()).json.user).toBe("ada");
  expect((await keys.logIn(ME)).json.user).toBe(ME);
  expect((await keys.logIn("bob")).status).toBe(401);
});

test("a server of root admits every system user with their own key, unless it names the admitted ones", async () => {
  await using user = await SystemUser.make();
  const keys = client();
  const theirs = await keys.agent.newKey();
  await mkdir(`${user.home}/.ssh`, { mode: 0o700 });
  await writeFile(`${user.home}/.ssh/authorized_keys`, theirs, { mode: 0o600 });
  for (const path of [".ssh", ".ssh/authorized_keys"])
    await chown(`${user.home}/${path}`, user.uid, user.gid);
  expect((await keys.logIn(user.name, theirs)).json.user).toBe(user.name);
  expect((await keys.logIn(user.name)).status).toBe(401);
  expect((await keys.logIn(ME, theirs)).status).toBe(401);
  expect((await keys.logIn(`${user.uid}`, theirs)).status).toBe(401);
  await using choosy = await KeyServer.start({ args: ["--enable-ssh-keys", "--allow-user", "somebody"] });
  const key = await choosy.agent.newKey();
  await writeFile(`${user.home}/.ssh/authorized_keys`, key);
  expect((await choosy.logIn(user.name, key)).status).toBe(401);
});

test("nonsense is refused, and never breaks anything", async () => {
  const keys = client();
  const good = await keys.prove();
  const long = "A".repeat(8_192);
  const texts = [
    "",
    " ",
    "\0",
    "ssh-ed25519",
    long,
    "ü",
    "\ud800",
    keys.key.slice(0, -30),
    "AAAA".repeat(16),
  ];
  for (const [at, text] of texts.entries()) {
    for (const wrong of [{ publicKey: text }, { signature: text }]) {
      const { challengeId } = (await keys.post("challenge", { userId: `user-${at}` })).json;
      const answer = await keys.post("ssh-login", { ...good, challengeId, ...wrong }, `127.0.2.${at}`);
      expect(answer).toMatchObject({ status: 401, json: REFUSED });
    }
  }
  const bodies = [{}, [], { ...good, challengeId: 1 }, { ...good, publicKey: {} }];
  for (const body of bodies) {
    expect(await keys.post("ssh-login", body)).toMatchObject({
      status: 400,
      json: { code: "invalid_request" },
    });
  }
  expect(await keys.post("ssh-login", { ...good, signature: `${long}${long}` })).toMatchObject({
    ...{ status: 413, json: { code: "body_too_large" } },
  });
  for (const userId of ["", 1, {}, "x".repeat(257)]) {
    expect((await keys.post("challenge", { userId })).status).toBe(400);
  }
  expect((await keys.post("ssh-login", good)).status).toBe(200);
});

test("the eleventh failed login within a minute is refused, though the key be right", async () => {
  const keys = client();
  for (let count = 0; count < 10; count++) {
    expect((await keys.post("ssh-login", { ...(await keys.prove()), signature: "AAAA" })).status).toBe(401);
  }
  expect(await keys.logIn()).toMatchObject({ status: 429, json: { code: "rate_limited" } });
  expect((await keys.logIn(ME, keys.key, "127.0.0.2")).status).toBe(200);
});

test("the log has logins and refusals, and no key, signature or token", async () => {
  await using keys = await KeyServer.start();
  const proof = await keys.prove();
  const { token } = (await keys.post("ssh-login", proof)).json;
  await keys.post("ssh-login", proof);
  await keys.server.logged("login refused");
  const { log } = keys.server;
  expect(log).toMatch(/"method":"ssh-key".*logged in/);
  expect(log).toMatch(/"method":"ssh-key".*login refused/);
  for (const secret of [token, proof.signature, proof.publicKey.split(" ")[1] ?? "", proof.challengeId]) {
    expect(log).not.toContain(secret);
  }
});
