import { expect, test, vi } from "vitest";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import { LineLimit } from "../../../src/audit/line-limit.ts";

function refused(address: string, code = "invalid_credentials"): AuditEntry {
  return { action: "login", result: "refused", address, details: { code } };
}

function refusals() {
  const lines: AuditEntry[] = [];
  const all = new LineLimit({
    audit: { write: (entry) => void lines.push(entry) },
    maxKinds: 60,
    others: { action: "request", result: "refused" },
  });
  return { lines, all };
}

test("the first refusal is recorded at once, its repetitions in one line at the end", () => {
  const { lines, all } = refusals();
  for (let count = 0; count < 1_000; count++) all.write(refused("10.0.0.1"));
  expect(lines).toEqual([refused("10.0.0.1")]);
  all[Symbol.dispose]();
  expect(lines.at(-1)).toEqual({
    ...refused("10.0.0.1"),
    details: { code: "invalid_credentials", times: 999 },
  });
});

test("only the first line has the request's id, the summary has none", () => {
  const { lines, all } = refusals();
  for (const requestId of ["r1", "r2", "r3"]) all.write({ ...refused("10.0.0.1"), requestId });
  all[Symbol.dispose]();
  expect(lines.map(({ requestId, details }) => [requestId, details?.times])).toEqual([
    ["r1", undefined],
    [undefined, 2],
  ]);
});

test("the line of the repetitions is the last of them", () => {
  const { lines, all } = refusals();
  const register = (url: string) =>
    all.write({ action: "remote.refresh", result: "ok", details: { url } }, "worker-1");
  for (const url of ["http://a", "http://b", "http://c"]) register(url);
  all[Symbol.dispose]();
  expect(lines.map(({ details }) => details)).toEqual([{ url: "http://a" }, { url: "http://c", times: 2 }]);
});

test("a single refusal is one line", () => {
  const { lines, all } = refusals();
  all.write(refused("10.0.0.1"));
  all.write(refused("10.0.0.1", "rate_limited"));
  all.write(refused("10.0.0.2"));
  all[Symbol.dispose]();
  expect(lines).toHaveLength(3);
});

test("any number of addresses causes at most 121 lines a minute", () => {
  const { lines, all } = refusals();
  for (let count = 0; count < 10_000; count++) {
    const address = `10.0.${count >> 8}.${count & 255}`;
    all.write(refused(address));
    all.write(refused(address));
  }
  all[Symbol.dispose]();
  expect(lines).toHaveLength(121);
  expect(lines.at(-1)).toMatchObject({ action: "request", result: "refused", details: { times: 19_880 } });
});

test("the addresses of an IPv6 /64 count as one", () => {
  const { lines, all } = refusals();
  for (let count = 0; count < 100; count++) all.write(refused(`2001:db8::${count.toString(16)}`));
  expect(lines).toHaveLength(1);
  all[Symbol.dispose]();
});

test("after a minute the next refusal is recorded again", () => {
  vi.useFakeTimers();
  try {
    const { lines, all } = refusals();
    for (let minute = 0; minute < 3; minute++) {
      all.write(refused("10.0.0.1"));
      all.write(refused("10.0.0.1"));
      vi.advanceTimersByTime(60_000);
    }
    expect(lines.map(({ details }) => details?.times)).toEqual([undefined, 1, undefined, 1, undefined, 1]);
    all[Symbol.dispose]();
    expect(lines).toHaveLength(6);
  } finally {
    vi.useRealTimers();
  }
});
