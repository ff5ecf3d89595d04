import { expect, test } from "vitest";
import { createLogger, type LogFormat } from "../../src/log.ts";

const HIDDEN = "hunter2-S3cret";

function captured(options: { level?: "debug" | "info"; format?: LogFormat; isTTY?: boolean } = {}) {
  const lines: string[] = [];
  const { level = "info", format = "json", isTTY = false } = options;
  const destination = { write: (line: string) => lines.push(line), isTTY };
  return { lines, log: createLogger({ level, format, destination }) };
}

test("an event is one line of JSON with its fields", () => {
  const { lines, log } = captured();
  log.warn({ remote: "a", count: 2 }, "remote dropped");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    level: "warn",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    pid: process.pid,
    remote: "a",
    count: 2,
    message: "remote dropped",
  });
});

test("a child adds its fields, and a child of it more", () => {
  const { lines, log } = captured();
  log.child({ session: "s1" }).child({ viewer: 3 }).info({ a: 1 }, "viewer left");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ session: "s1", viewer: 3, a: 1 });
});

test("lines below the level are neither written nor evaluated", () => {
  const { lines, log } = captured();
  const trap = {
    get field(): never {
      throw new Error("was looked at");
    },
  };
  log.debug(trap, "detail");
  expect(lines).toEqual([]);
  captured({ level: "debug" }).log.debug({}, "detail");
});

test("a percent sign in a message is a percent sign", () => {
  const { lines, log } = captured();
  log.info({ a: 1 }, "disk 90 %s full %d");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ message: "disk 90 %s full %d" });
});

test.each<LogFormat>(["json", "text"])(
  "no secret reaches the log as %s, from fields, children, errors or messages",
  (format) => {
    const { lines, log } = captured({ format });
    log
      .child({ token: HIDDEN })
      .info({ password: HIDDEN, headers: { authorization: `Bearer ${HIDDEN}`, cookie: HIDDEN } }, "request");
    log.error({ error: new Error(`GET /ws?token=${HIDDEN} failed`) }, "failed");
    log.warn({ url: `ws://h/ws?a=1&token=${HIDDEN}`, ticket: HIDDEN }, `login with Bearer ${HIDDEN}`);
    expect(lines).toHaveLength(3);
    expect(lines.join("")).not.toContain(HIDDEN);
  },
);

test("an error is logged with its type, message and stack", () => {
  const { lines, log } = captured();
  log.error({ error: new TypeError("no such thing") }, "request failed");
  expect(JSON.parse(lines[0] ?? "").error).toMatchObject({
    type: "TypeError",
    message: "no such thing",
    stack: expect.stringContaining("log.test.ts"),
  });
});

test("text is for people: time, level, message, fields", () => {
  const { lines, log } = captured({ format: "text" });
  log.warn({ remote: "a b" }, "remote dropped");
  expect(lines[0]).toMatch(/^\S+Z warn remote dropped remote="a b"\n$/);
});

test("text holds no control characters, so that nobody can write to the terminal through the log", () => {
  const { lines, log } = captured({ format: "text" });
  log.info({ name: "\u001b[2J\u009b2J\r\n\u007f", "\u001b]0;x\u0007": 1 }, "session named");
  expect(lines[0]).toMatch(/^\P{Cc}+\n$/u);
});

test("auto is text on a terminal and JSON elsewhere", () => {
  for (const [isTTY, start] of [
    [true, /^\d{4}-/],
    [false, /^\{/],
  ] as const) {
    const { lines, log } = captured({ format: "auto", isTTY });
    log.info({}, "started");
    expect(lines[0]).toMatch(start);
  }
});
