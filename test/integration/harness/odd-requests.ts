// Almost valid, invalid and nonsensical requests for every endpoint.
import * as fc from "fast-check";
import type { Endpoint } from "../../../src/protocol/endpoints/endpoint.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import type { PathQuestion } from "./http.ts";

/** The ids in most of the requests. */
export const SESSION_IDS = ["one", "two", "three"] as const;

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ maxLength: 30 }),
  fc.constantFrom(
    "",
    "\0",
    "..",
    "../../etc/passwd",
    "%00",
    "\ud800",
    "__proto__",
    "constructor",
    "\u{1F600}",
  ),
  fc.constant("x".repeat(5000)),
);
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -1, 1, 80, 1000, 1001, 2 ** 31, 2 ** 53, 1e308, 0.5),
);
const anything = fc.oneof(text, number, fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 2 }));

const mostly = <T>(good: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: odd });
const field = (good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => mostly(good, anything);
const optional = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(members, { requiredKeys: [] });

// Large ones are rare: a screen of a million cells is slow.
const size = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 1, max: 120 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1000 }) },
);
const PROGRAMS = [
  "true",
  "cat",
  "echo hello",
  ["true"],
  ["cat"],
  ["sh", "-c", "exit 3"],
  ["seq", "1", "9999"],
];
/** Harmless programs, and invalid commands. */
const command = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...PROGRAMS) },
  { weight: 1, arbitrary: fc.constantFrom("", "/", [], [""], "no-such-program", 7, null) },
  { weight: 1, arbitrary: text.map((word) => `no-such-${word}/`) },
  { weight: 1, arbitrary: fc.array(text, { maxLength: 3 }).map((words) => ["no-such-program/", ...words]) },
);
const env = fc.oneof(
  fc.dictionary(fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,5}$/), text, { maxKeys: 3 }),
  fc.constant({ A: "x".repeat(100_000) }),
);
const GOOD_FIELDS: Record<string, fc.Arbitrary<unknown>> = {
  ...{ command, env: field(env), cols: field(size), rows: field(size), name: field(text) },
  id: field(fc.constantFrom(...SESSION_IDS)),
  cwd: field(fc.constantFrom("/", "~", "/tmp", "/no/such")),
};
const CREATE = optional(GOOD_FIELDS);
/** The bodies of each endpoint, by its name; the others are about logins and other machines. */
const BODIES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  createSession: CREATE,
  renameSession: optional({ name: field(text) }),
  inputSession: fc.oneof(
    fc.record({ text: field(text) }),
    fc.record({ key: field(fc.constantFrom("enter", "f1", "arrow_up")) }),
    fc.record({ data: field(fc.base64String()) }),
  ),
  resizeSession: fc.record({ cols: field(size), rows: field(size) }),
  killSession: optional({
    signal: field(fc.constantFrom("SIGTERM", "SIGKILL", "SIGWINCH", "SIGSTOP", "SIGCONT")),
  }),
  markSession: fc.record({ label: field(text) }),
};
const oddBody: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue(),
  text,
  fc.uint8Array({ maxLength: 200 }),
  CREATE,
);

const id = mostly(
  fc.constantFrom<string>(...SESSION_IDS),
  fc.oneof(text.map(wellFormed).map(encodeURIComponent), fc.constantFrom("%", "%ff", "%2e%2e", "nobody")),
);
const offset = field(fc.nat(60_000));
const flag = field(fc.constantFrom("0", "1"));
const query = optional({
  ...{
    from: offset,
    to: offset,
    after: field(fc.nat(20)),
    follow: flag,
    scrollback: flag,
    styles: flag,
    token: text,
  },
}).map((members) => {
  const pairs = Object.entries(members).map(([name, one]) => [name, wellFormed(textOf(one))]);
  return new URLSearchParams(pairs).toString();
});

const header = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((point) => String.fromCharCode(point)),
  maxLength: 30,
});
const oddHeaders = fc.record(
  {
    range: fc.oneof(
      header,
      fc.tuple(fc.nat(200), fc.nat(200)).map(([a, b]) => `bytes=${a}-${b}`),
    ),
    "last-event-id": header,
    "content-type": fc.oneof(header, fc.constantFrom("text/plain", "application/json; charset=utf-16")),
    "content-encoding": fc.constantFrom("gzip", "identity", "br"),
    authorization: header,
    "if-none-match": header,
  },
  { requiredKeys: [] },
);
const oddMethod = fc.constantFrom("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS");

function requestOf(name: string, { method, path }: Endpoint): fc.Arbitrary<PathQuestion> {
  const body = BODIES[name];
  return fc
    .record({
      method: mostly(fc.constant(method.toUpperCase()), oddMethod),
      path: mostly(
        fc.tuple(id, id).map(([first, second]) => path.replace(":id", first).replace(":name", second)),
        text.map((part) => `/${encodeURI(wellFormed(part))}`),
      ),
      query: fc.oneof(fc.constant(""), query),
      headers: mostly<Record<string, string>>(fc.constant({}), oddHeaders),
      body: body === undefined ? mostly(fc.constant(undefined), oddBody) : mostly(body, oddBody),
    })
    .map((asked) => ({
      ...{ method: asked.method, headers: asked.headers, body: asked.body },
      path: asked.query === "" ? asked.path : `${asked.path}?${asked.query}`,
      isHeadEnough: /\/(stream|recording|api\/events)/.test(asked.path),
    }));
}

/** A random endpoint, all about equally often. */
export const oddRequest: fc.Arbitrary<PathQuestion> = fc.oneof(
  ...Object.entries(endpoints).map(([name, endpoint]) => requestOf(name, endpoint)),
);

function textOf(one: unknown): string {
  return typeof one === "string" ? one : (JSON.stringify(one) ?? "");
}

function wellFormed(part: string): string {
  return part.toWellFormed();
}
