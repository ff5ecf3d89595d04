import { describe, expect, test } from "vitest";
import { refuseLoop } from "../../../../src/hq/health/loop.ts";
import type { RemoteHealth } from "../../../../src/hq/health/probe.ts";
import { registration } from "../memory-store.ts";

const SELF = "this-hq";

function refusal(answer: () => Promise<RemoteHealth>): Promise<unknown> {
  return refuseLoop(answer, SELF, registration("a")).then(
    () => "let pass",
    (error: unknown) => error,
  );
}

describe("a url", () => {
  test.each<[string, RemoteHealth, string]>([
    ["of the HQ itself", { instanceId: SELF, mode: "hq" }, "leads to this HQ itself"],
    ["of the HQ itself, whatever it says of its mode", { instanceId: SELF }, "leads to this HQ itself"],
    ["of another HQ", { instanceId: "other", mode: "hq" }, "leads to an HQ"],
  ])("%s is refused", async (_, health, message) => {
    expect(await refusal(async () => health)).toMatchObject({
      code: "invalid_request",
      details: { issues: [{ path: "url", message }] },
    });
  });

  test.each<[string, RemoteHealth]>([
    ["of a remote", { instanceId: "other", mode: "remote" }],
    ["of a server that stands alone", { instanceId: "other", mode: "standalone" }],
    ["of an older program, which says nothing of itself", {}],
  ])("%s is let pass", async (_, health) => {
    expect(await refusal(async () => health)).toBe("let pass");
  });

  test("where nobody answers is let pass", async () => {
    const refused = async (): Promise<RemoteHealth> => {
      throw new Error("refused");
    };
    expect(await refusal(refused)).toBe("let pass");
  });

  test("where somebody takes the question and never answers is let pass, after a second", async () => {
    const started = performance.now();
    expect(await refusal(() => new Promise<never>(() => {}))).toBe("let pass");
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});
