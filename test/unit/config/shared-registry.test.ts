import { expect, test } from "vitest";
import { problems, reveal, serve } from "./command-line.ts";

const HQ = "--hq --username hq --password-file /run/secrets/password --jwt-secret-file jwt";

function registryOf(commandLine: string, env = {}) {
  const { role } = serve(commandLine, env);
  return role.kind === "hq" ? role.sharedRegistry : undefined;
}

test("an HQ shares its registry at the address of a flag or a variable", () => {
  expect(registryOf(HQ)).toBeUndefined();
  expect(registryOf(`${HQ} --registry-url redis://redis.example.com/2`)).toMatchObject({
    ...{ isTls: false, hosts: [{ host: "redis.example.com", port: 6379 }], database: 2 },
  });
  const given = registryOf(HQ, { TTYHQ_REGISTRY_URL: "rediss://me:secret@redis.example.com" });
  expect(given).toMatchObject({ isTls: true, username: "me" });
  expect(reveal(given?.password)).toBe("secret");
  expect(Object.isFrozen(given)).toBe(true);
});

test("an address with credentials on the command line causes a warning, one without does not", () => {
  expect(serve(`${HQ} --registry-url redis://redis.example.com`).warnings).toEqual([]);
  expect(serve(`${HQ} --registry-url redis://:secret@redis.example.com`).warnings).toEqual([
    expect.stringContaining("--registry-url-file or TTYHQ_REGISTRY_URL"),
  ]);
  expect(
    serve(`${HQ} --registry-url redis+sentinel://host/main?sentinel-password=secret`).warnings,
  ).toHaveLength(1);
});

test("an invalid address is refused without being shown", () => {
  for (const text of [
    "redis+sentinel://me:secret@host",
    "http://me:secret@host",
    "redis://me:secret@host/zero",
    "secret",
  ]) {
    const told = problems(HQ, { TTYHQ_REGISTRY_URL: text });
    expect(told).toEqual([expect.stringContaining("TTYHQ_REGISTRY_URL: must be redis://")]);
    expect(told.join()).not.toContain("secret");
  }
});

test("HQs that share a registry need a common token secret", () => {
  const commandLine = `${HQ.replace("--jwt-secret-file jwt", "")} --registry-url redis://host`;
  expect(problems(commandLine)).toEqual([
    expect.stringContaining("--registry-url needs a secret that every HQ of this registry has"),
  ]);
  expect(problems(commandLine, { TTYHQ_JWT_SECRET: "s".repeat(32) })).toEqual([]);
});

test("a shared registry is for an HQ only, and warns with --hq-sessions", () => {
  expect(problems("--no-auth --registry-url redis://host")).toEqual([
    expect.stringContaining("--registry-url is for an HQ alone"),
  ]);
  expect(serve(`${HQ} --registry-url redis://host --hq-sessions`).warnings).toEqual([
    expect.stringContaining("--hq-sessions:"),
  ]);
});
