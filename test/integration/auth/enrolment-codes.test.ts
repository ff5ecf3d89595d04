// With --require-second-factor the first passkey needs an administrator's code in addition to the password.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Authenticator } from "../harness/authenticator.ts";
import { ttyhq } from "../harness/command.ts";
import { type Answer, ask } from "../harness/http.ts";
import { askAs, PASSWORD, passwordServer, USERNAME } from "../harness/password-server.ts";
import type { TestServer } from "../harness/test-server.ts";

const ORIGIN = "https://ttyhq.test";
const headers = { origin: ORIGIN };
const OTHER = "grace";

let server: TestServer;
beforeAll(async () => {
  const args = [
    "--require-second-factor",
    "--allowed-origin",
    ORIGIN,
    "--allow-user",
    USERNAME,
    "--role",
    `${OTHER}=viewer`,
  ];
  server = await passwordServer("inline", { args });
});
afterAll(() => server[Symbol.asyncDispose]());

const withPassword = (more: object = {}): Promise<Answer> =>
  ask(server.url, "/api/auth/token", { headers, body: { password: PASSWORD, ...more } });

async function registerPasskey(device: Authenticator, enrolmentCode?: string): Promise<Answer> {
  const { json } = await withPassword();
  expect(json.code).toBe("second_factor_required");
  const { challengeId, registration } = json.details;
  const body = { challengeId, registration: device.create(registration), enrolmentCode };
  return await ask(server.url, "/api/auth/second-factor", { headers, body });
}

async function newCode(user: string): Promise<string> {
  const { code, stdout, stderr } = await ttyhq(["enrolment-code", user, "--control-dir", server.controlDir]);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.trim();
}

test("a password alone makes no first passkey", async () => {
  const refused = await registerPasskey(new Authenticator(ORIGIN));
  expect([refused.status, refused.json.code]).toEqual([401, "invalid_credentials"]);
  expect(refused.json.error).toContain("ttyhq enrolment-code");
});

test("a code creates one passkey, for its user, who cannot log in without it", async () => {
  const others = await registerPasskey(new Authenticator(ORIGIN), await newCode(OTHER));
  expect([others.status, others.json.code]).toEqual([401, "invalid_credentials"]);
  const code = await newCode(USERNAME);
  const device = new Authenticator(ORIGIN);
  const made = await registerPasskey(device, code);
  expect([made.status, made.json.recoveryCodes.length]).toEqual([200, 10]);
  expect((await registerPasskey(new Authenticator(ORIGIN), code)).json.code).toBe("invalid_credentials");
  expect((await registerPasskey(new Authenticator(ORIGIN))).json.code).toBe("invalid_credentials");

  const { challengeId, assertion } = (await withPassword()).json.details;
  const body = { challengeId, assertion: device.get(assertion) };
  const { json } = await ask(server.url, "/api/auth/second-factor", { headers, body });
  const passkeys = await askAs(json.token, server, "/api/auth/passkeys");
  expect(passkeys.json.passkeys).toHaveLength(1);
});

test("a code readmits a user who has lost everything, and replaces the recovery codes", async () => {
  const [first, second] = [await newCode(USERNAME), await newCode(USERNAME)];
  const before = (await registerPasskey(new Authenticator(ORIGIN), first)).json.recoveryCodes;
  const after = (await registerPasskey(new Authenticator(ORIGIN), second)).json.recoveryCodes;
  const [old = "", current = ""] = [before[0], after[0]];
  expect((await withPassword({ recoveryCode: old })).json.code).toBe("invalid_credentials");
  expect((await withPassword({ recoveryCode: current })).status).toBe(200);
});

test("a code is made for those who may log in", async () => {
  const { code, stderr } = await ttyhq(["enrolment-code", "nobody", "--control-dir", server.controlDir]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("nobody may not log in here")]);
});
