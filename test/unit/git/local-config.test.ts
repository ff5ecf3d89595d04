import { expect, test } from "vitest";
import { configOverrides, parseConfigList } from "../../../src/git/local-config.ts";

test("values may have line feeds, section names any character, and a key without a value is true", () => {
  const text = "global\0user.name\nOne\nTwo\0local\0filter.a=b.c.clean\nx=y\0worktree\0core.bare\0";
  expect(parseConfigList(text)).toEqual([
    { scope: "global", key: "user.name", value: "One\nTwo" },
    { scope: "local", key: "filter.a=b.c.clean", value: "x=y" },
    { scope: "worktree", key: "core.bare", value: "true" },
  ]);
});

test("programs of the repository's own config become those of the trusted one, or none", () => {
  const overrides = configOverrides([
    { scope: "global", key: "filter.lfs.clean", value: "git-lfs clean" },
    { scope: "local", key: "filter.lfs.clean", value: "evil" },
    { scope: "local", key: "filter.lfs.required", value: "true" },
    { scope: "worktree", key: "filter.a.b.process", value: "evil" },
    { scope: "local", key: "filter.a.b.process", value: "evil" },
    { scope: "unknown", key: "hook.x.command", value: "evil" },
    { scope: "local", key: "user.name", value: "One" },
  ]);
  expect(overrides).toEqual([
    { key: "filter.lfs.clean", value: "git-lfs clean" },
    { key: "filter.lfs.required", value: "false" },
    { key: "filter.a.b.process", value: "" },
    { key: "hook.x.enabled", value: "false" },
  ]);
});

test("too many programs are rejected", () => {
  const entries = Array.from({ length: 1_001 }, (_, at) => ({
    scope: "local",
    key: `filter.${at}.clean`,
    value: "x",
  }));
  expect(() => configOverrides(entries)).toThrow(expect.objectContaining({ code: "forbidden" }));
});
