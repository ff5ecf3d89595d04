import { expect, test } from "vitest";
import { warnOfTrustedRange } from "../../../../src/app/listeners/server-listeners.ts";
import type { AuditedRequest } from "../../../../src/http/audit-hook.ts";

const RANGES = [
  { address: "10.244.0.0", prefix: 16 },
  { address: "127.0.0.1", prefix: 32 },
];

function watched(ownAddresses: readonly string[]) {
  const told: unknown[] = [];
  const warn = ({ address }: { readonly address?: unknown }, message: string): void => {
    told.push([address, message.split(":")[0]]);
  };
  return { told, hook: warnOfTrustedRange({ ranges: RANGES, ownAddresses, log: { warn } }) };
}

const request = (address: string, more: Partial<AuditedRequest> = {}): AuditedRequest => ({
  ...{ endpoint: "registerRemote", method: "POST", path: "/api/remotes/register", address, host: "hq" },
  ...{ origin: undefined, hasProof: true, principal: undefined, input: undefined, outcome: { answer: {} } },
  ...more,
});

test("trusted proxies that include this machine cause a warning at the start", () => {
  expect(watched(["127.0.0.1", "192.0.2.1", "10.244.3.4"]).told).toEqual([
    ["10.244.3.4", "trusted proxies include this machine"],
  ]);
  expect(watched(["127.0.0.1", "192.0.2.1", "fe80::1"]).told).toEqual([]);
});

test("trusted proxies that include a registering remote cause one warning", () => {
  const { told, hook } = watched([]);
  hook(request("192.0.2.7"));
  hook(request("10.244.1.1", { outcome: { error: new Error("refused") } }));
  hook(request("10.244.1.1", { endpoint: "listRemotes" }));
  expect(told).toEqual([]);
  hook(request("10.244.1.1"));
  hook(request("10.244.1.2"));
  expect(told).toEqual([["10.244.1.1", "trusted proxies include a remote"]]);
});
