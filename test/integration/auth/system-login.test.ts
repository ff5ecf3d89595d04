// Login with the password of a user of this system, checked by its PAM.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bestTime } from "../harness/best-time.ts";
import { type Answer, ask } from "../harness/http.ts";
import { TestServer } from "../harness/test-server.ts";
import { SystemUser } from "./system-user.ts";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const PASSWORD = "pa55 wörd";
const wrong = { status: 401, json: { code: "invalid_credentials" } };

test.runIf(isRoot)(
  "a user of the system logs in; guesses at known, closed and unknown names take equally long",
  async () => {
    await using user = await SystemUser.make();
    await using closed = await SystemUser.make();
    for (const { name } of [user, closed]) await setPassword(name);
    await closed.modify("--expiredate", "1");
    await using server = await TestServer.start({
      args: ["--session-host", "inline", "--rate-limit-api", "0"],
    });
    const logIn = async (
      username: string,
      password: string,
      from = "127.0.0.1",
    ): Promise<Answer & { readonly tookMs: number }> => {
      const beganMs = performance.now();
      const answer = await ask(server.url, "/api/auth/token", { body: { username, password }, from });
      return { ...answer, tookMs: performance.now() - beganMs };
    };

    expect(await logIn(user.name, PASSWORD)).toMatchObject({ status: 200, json: { user: user.name } });
    let rounds = 0;
    // The server knows the name of a recent login without asking the system.
    const spread = async (): Promise<number> => {
      rounds += 1;
      // An address may fail ten times a minute.
      const from = `127.0.1.${rounds}`;
      const refusals = await Promise.all([
        logIn(user.name, "wrong", from),
        logIn(closed.name, PASSWORD, from),
        logIn("no-such-user", PASSWORD, from),
      ]);
      for (const refusal of refusals) expect(refusal).toMatchObject(wrong);
      const times = refusals.map(({ tookMs }) => tookMs);
      expect(Math.min(...times)).toBeGreaterThanOrEqual(3_999);
      return Math.max(...times) - Math.min(...times);
    };
    expect(await bestTime(500, spread)).toBeLessThan(500);
  },
);

async function setPassword(name: string): Promise<void> {
  const changing = run("chpasswd");
  changing.child.stdin?.end(`${name}:${PASSWORD}\n`);
  await changing;
}
