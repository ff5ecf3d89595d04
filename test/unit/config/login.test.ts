import { expect, test } from "vitest";
import { serve } from "./command-line.ts";

test("by default system users log in with their password", () => {
  expect(serve("").auth).toEqual({
    mode: "login",
    roles: [],
    password: { kind: "system" },
    ...{ requireSecondFactor: false, sshKeys: false, loginLink: false, allowUsers: [], adminUsers: [] },
    ...{ identity: undefined, localBypass: undefined, idleTimeoutMs: undefined },
  });
});

test("the idle timeout is between a second and a day", () => {
  expect(serve("--login-idle-timeout 30m").auth).toMatchObject({ idleTimeoutMs: 1_800_000 });
  expect(serve("--login-idle-timeout 24h").auth).toMatchObject({ idleTimeoutMs: 86_400_000 });
  for (const text of ["500ms", "25h", "long"]) {
    expect(() => serve(`--login-idle-timeout ${text}`)).toThrow("must be a time from 1s to 24h, such as 30m");
  }
});

test("keys are offered in addition to a password, or instead of it", () => {
  expect(serve("--enable-ssh-keys").auth).toMatchObject({ password: { kind: "system" }, sshKeys: true });
  expect(serve("--disallow-user-password").auth).toMatchObject({ password: undefined, sshKeys: true });
  const pair = { SERVICE_USERNAME: "admin", SERVICE_PASSWORD: "s3cret" };
  expect(serve("--disallow-user-password", pair).auth).toMatchObject({ password: undefined, sshKeys: true });
});

test("--no-auth overrides every other login option", () => {
  const others = "--enable-ssh-keys --allow-local-bypass --enable-proxy-serve --admin-user ada";
  const config = serve(`--no-auth --bind 127.0.0.1 ${others}`);
  expect(config.auth).toEqual({ mode: "none", isPasswordDisallowed: false });
  expect(config.proxyServe).toBeUndefined();
});

test("options that admit everyone on this machine cause a warning", () => {
  expect(serve("--allow-local-bypass").warnings).toEqual([
    expect.stringContaining("--allow-local-bypass: every user and program of this machine"),
  ]);
  expect(serve("--allow-local-bypass", { TTYHQ_LOCAL_AUTH_TOKEN: "t".repeat(16) }).warnings).toEqual([]);
  expect(serve("--enable-proxy-serve --proxy-external").warnings).toEqual([
    expect.stringContaining("--proxy-external: every user and program of this machine"),
  ]);
});

test("with an identity proxy the server listens only on 127.0.0.1", () => {
  const config = serve("--enable-proxy-serve --proxy-external");
  expect(config.listen.host).toBe("127.0.0.1");
  expect(config.auth).toMatchObject({ identity: "local-proxy" });
  expect(serve("--enable-proxy-serve --proxy-external --bind 127.0.0.1").listen.host).toBe("127.0.0.1");
});
