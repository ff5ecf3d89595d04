// A login in which the system's PAM asks for more than a password: here pam_oath, for a one-time code.
import { env } from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { Chromium } from "../browser/chromium.ts";
import { type Answer, ask } from "../harness/http.ts";
import { Program } from "../harness/program.ts";
import { MAIN } from "../harness/test-server.ts";
import { buildImage } from "./built-image.ts";
import { BUILD_TIMEOUT_MS } from "./docker.ts";
import { makeUsers, PASSWORD, SystemContainer } from "./system-container.ts";

/** An image to test unchanged; by default the current sources are built. */
const GIVEN_IMAGE = env.TTYHQ_OATH_IMAGE;
const IMAGE = GIVEN_IMAGE ?? "ttyhq-oath:test";

/** The secret of RFC 4226, appendix D, and its first codes. */
const SECRET = Buffer.from("12345678901234567890").toString("hex");
const CODES = ["755224", "287082", "359152"] as const;
const [FIRST, SECOND, THIRD] = CODES;

const PREPARE = `
${makeUsers("alice", "bob")}
printf 'HOTP %s - ${SECRET}\\n' alice bob >/etc/users.oath && chmod 600 /etc/users.oath
cat >/etc/pam.d/ttyhq <<'END'
auth     requisite  pam_unix.so nodelay
auth     required   pam_oath.so usersfile=/etc/users.oath window=5 digits=6
account  required   pam_unix.so
END
`;

const REFUSED = { error: "wrong user name or password", code: "invalid_credentials", details: {} };
const Question = z.object({ details: z.object({ challengeId: z.string() }) });

const scope = new AsyncDisposableStack();
let container: SystemContainer;

beforeAll(async () => {
  if (GIVEN_IMAGE === undefined) await buildImage(IMAGE, ["--build-arg", "PACKAGES=libpam-oath"]);
  container = scope.use(await SystemContainer.start({ image: IMAGE, prepare: PREPARE }));
}, BUILD_TIMEOUT_MS);
afterAll(() => scope.disposeAsync());

const post = (path: string, body: object): Promise<Answer> =>
  ask(container.url, `/api/auth/${path}`, { body });
const token = (username: string, password = PASSWORD) => post("token", { username, password });
const answer = (challengeId: string, ...answers: string[]) => post("answers", { challengeId, answers });

async function asked(username: string): Promise<string> {
  return Question.parse((await token(username)).json).details.challengeId;
}

test("the code that PAM asks for completes a login, once; a wrong one is refused like a wrong password", async () => {
  const { status, json } = await token("alice");
  expect([status, json]).toEqual([
    401,
    {
      code: "login_question",
      error: expect.stringMatching(
        /^this system asks for more than a password \(One-time password .*\): log in on/,
      ),
      details: {
        challengeId: expect.any(String),
        ...{ expiresIn: 60, messages: [] },
        prompts: [{ message: expect.stringMatching(/^One-time password/), echo: false }],
      },
    },
  ]);
  const { challengeId } = Question.parse(json).details;
  const done = await answer(challengeId, FIRST);
  expect([done.status, done.json]).toMatchObject([200, { user: "alice", token: expect.any(String) }]);
  expect((await answer(challengeId, SECOND)).json).toMatchObject({ code: "unauthorized" });
  const replayed = await answer(await asked("alice"), FIRST);
  const guessed = await answer(await asked("alice"), "000000");
  for (const { status: refusal, json: body } of [replayed, guessed])
    expect([refusal, body]).toEqual([401, REFUSED]);
  await container.hasProcesses(0, ".*/ttyhq-pam");
});

test("without the right password no question is asked, for known and unknown users", async () => {
  const guess = (username: string, from: string) => ({ username, password: "guess", from });
  const outcomes = await container.logIn([guess("bob", "127.0.0.5"), guess("eve", "127.0.0.6")]);
  for (const { status, text, ms } of outcomes) {
    expect([status, JSON.parse(text)]).toEqual([401, REFUSED]);
    expect(ms).toBeGreaterThanOrEqual(3_999);
  }
});

test("an old client receives the error", async () => {
  const { status, json } = await post("password", { userId: "bob", password: PASSWORD });
  expect([status, json]).toMatchObject([
    401,
    { code: "login_question", error: expect.stringContaining("log in on the page or with `ttyhq login`") },
  ]);
});

test("a login ends with its PAM process, and other logins continue", async () => {
  const challenge = await asked("bob");
  await container.sh("pkill -9 -f '[t]tyhq-pam'");
  expect((await answer(challenge, FIRST)).status).toBe(500);
  const again = await asked("bob");
  await container.sh("pkill -9 -f 'account-[w]orker'");
  await container.hasProcesses(0, ".*/ttyhq-pam");
  expect((await answer(again, FIRST)).status).toBe(500);
  expect((await answer(await asked("bob"), FIRST)).status).toBe(200);
});

test("the page asks, in a field for one-time codes", async () => {
  await using chromium = await Chromium.ofProcess();
  await using driver = await chromium.open(container.url);
  const { page } = driver;
  const begin = async (): Promise<void> => {
    await page.getByLabel("User").fill("alice");
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await driver.button("Log in").click();
  };
  await begin();
  const field = page.getByLabel(/^One-time password/);
  await field.waitFor();
  expect(await field.getAttribute("type")).toBe("password");
  expect(await field.getAttribute("autocomplete")).toBe("one-time-code");
  await field.fill("000000");
  await driver.button("Log in").click();
  await page.getByText("Wrong user name or password. Please log in again.").waitFor();
  await begin();
  await field.fill(SECOND);
  await driver.button("Log in").click();
  await driver.connection("open");
  await page.getByTitle("Logged in as alice").waitFor();
});

test("the command line asks on the terminal, and shows no answer", async () => {
  const args = [MAIN, "login", "--url", container.url, "--user", "alice"];
  await using program = new Program(process.execPath, args);
  const type = (text: string): void => program.pty.write(new TextEncoder().encode(`${text}\r`));
  await program.shows(/Password: /);
  type(PASSWORD);
  await program.shows(/One-time password[^\n]*: /);
  type(THIRD);
  const [, issued = ""] = await program.shows(/^(ey[\w-]+\.[\w-]+\.[\w-]+)\r?\n/m);
  expect((await program.ended).exitCode).toBe(0);
  expect(program.text).not.toContain(THIRD);
  expect(program.text).not.toContain(PASSWORD);
  const headers = { authorization: `Bearer ${issued}` };
  expect((await ask(container.url, "/api/auth/verify", { headers })).json).toMatchObject({
    userId: "alice",
  });
});

test("neither the password nor a code is in the log", async () => {
  const { stdout, stderr } = await container.logs();
  for (const secret of [PASSWORD, ...CODES]) expect(`${stdout}${stderr}`).not.toContain(secret);
});
