import fc from "fast-check";
import { expect, test } from "vitest";
import {
  currentTrace,
  inTrace,
  outsideTraces,
  traceFields,
  traceHeaders,
  traceOf,
} from "../../../src/lib/trace.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

test("a request keeps the id that it came with", () => {
  for (const id of ["a", "f9c03de2-2f00-4403-bda2-c2b0aa41e3e4", "Root=1-67891233-abcdef", "x".repeat(128)]) {
    expect(traceOf({ "x-request-id": id })).toEqual({ requestId: id });
  }
});

test.each([
  ["none", undefined],
  ["an empty one", ""],
  ["a long one", "x".repeat(129)],
  ["one with a line break", "a\nlevel=error"],
  ["one with a space", "a b"],
  ["one with quotes", 'a"}'],
  ["one that is no ASCII", "é"],
  ["two of them", "a, b"],
  ["a list", ["a", "b"]],
  ["a token", "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl"],
])("in place of %s there is a new id", (_, id) => {
  expect(traceOf({ "x-request-id": id }).requestId).toMatch(UUID);
});

test("a trace context is passed on with this process as the parent", () => {
  const trace = traceOf({ "x-request-id": "a", traceparent: PARENT, tracestate: "vendor=1,other=2" });
  const headers = traceHeaders(trace);
  expect(headers).toEqual({
    "x-request-id": "a",
    traceparent: expect.stringMatching(new RegExp(`^00-${TRACE_ID}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`)),
    tracestate: "vendor=1,other=2",
  });
  expect(traceHeaders(trace).traceparent).not.toBe(headers.traceparent);
});

test("no trace context is created, and there are no headers outside of a request", () => {
  expect(traceHeaders(traceOf({ "x-request-id": "a" }))).toEqual({ "x-request-id": "a" });
  expect(traceHeaders(undefined)).toEqual({});
  expect(traceFields()).toEqual({});
});

test.each([
  ["no hexadecimal digits", `00-${TRACE_ID.replace("0", "g")}-b7ad6b7169203331-01`],
  ["capital letters", PARENT.toUpperCase()],
  ["a trace id of nothing", `00-${"0".repeat(32)}-b7ad6b7169203331-01`],
  ["a parent id of nothing", `00-${TRACE_ID}-${"0".repeat(16)}-01`],
  ["the version that is none", `ff-${TRACE_ID}-b7ad6b7169203331-01`],
  ["more than its version has", `${PARENT}-more`],
  ["too little", PARENT.slice(0, -1)],
  ["no end", `01-${PARENT.slice(3)}-${"x".repeat(500)}`],
  ["two of them", `${PARENT}, ${PARENT}`],
])("a trace context with %s is left out, and its state with it", (_, traceparent) => {
  expect(traceOf({ "x-request-id": "a", traceparent, tracestate: "vendor=1" })).toEqual({ requestId: "a" });
});

test("the known part of a later version counts, and unknown flags are dropped", () => {
  const context = { traceId: TRACE_ID, flags: "01" };
  const later = `cc-${TRACE_ID}-b7ad6b7169203331-ff-what-will-be`;
  expect(traceOf({ "x-request-id": "a", traceparent: later })).toEqual({ requestId: "a", context });
});

test("a state that is too long to be passed on is dropped", () => {
  const { context } = traceOf({ traceparent: PARENT, tracestate: `vendor=${"x".repeat(600)}` });
  expect(context).toEqual({ traceId: TRACE_ID, flags: "01" });
});

test("the headers that are passed on are well formed for any input", () => {
  const text = fc.oneof(fc.string({ maxLength: 200 }), fc.string({ unit: "binary", maxLength: 200 }));
  fc.assert(
    fc.property(text, text, text, (id, traceparent, tracestate) => {
      const headers = traceHeaders(traceOf({ "x-request-id": id, traceparent, tracestate }));
      expect(headers["x-request-id"]).toMatch(/^[\w.:+/=@-]{1,128}$/);
      for (const value of Object.values(headers)) expect(value).toMatch(/^[\x20-\x7e]+$/);
    }),
  );
});

test("work that a request starts has its trace, however long it takes", async () => {
  const inside = inTrace({ requestId: "a" }, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    const outside = await outsideTraces(async () => currentTrace());
    return [traceFields(), outside];
  });
  expect(currentTrace()).toBe(undefined);
  expect(await inside).toEqual([{ requestId: "a" }, undefined]);
});
