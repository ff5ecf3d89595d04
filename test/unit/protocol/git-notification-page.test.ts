// docs/protocol.md describes git-notification as the code has it.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decodeEvent } from "../../../src/protocol/frame/event.ts";
import { GitNotification } from "../../../src/protocol/schemas/follow.ts";

const page = readFileSync(new URL("../../../docs/protocol.md", import.meta.url), "utf8");
const part = /\*\*Git notifications\.\*\*[\s\S]*?(?=\n## )/.exec(page)?.[0] ?? "";

test("the example is valid and has every member", () => {
  const json = /```json\n([\s\S]*?)```/.exec(part)?.[1] ?? "";
  const decoded = decodeEvent(new TextEncoder().encode(json));
  expect(decoded).toEqual({ scope: "server", event: JSON.parse(json) });
  expect(Object.keys(JSON.parse(json).notification).sort()).toEqual(
    Object.keys(GitNotification.shape).sort(),
  );
});

test("exactly the existing types are explained", () => {
  const named = [...part.matchAll(/^\| `([a-z-]+)` \| (?:info|error) \|/gm)].map(([, name]) => name);
  expect(named.sort()).toEqual([...GitNotification.shape.type.options].sort());
});
