import fc from "fast-check";
import { expect, test } from "vitest";
import { readKeyOptions } from "../../../../src/auth/ssh/key-options.ts";

const NONE = { isLimited: false, from: undefined, expiresAtS: undefined };

test.each([
  ...[
    "no-port-forwarding",
    "port-forwarding",
    "no-agent-forwarding",
    "no-x11-forwarding",
    "no-user-rc",
    "pty",
  ],
  ...[
    "no-touch-required",
    "verify-required",
    'environment="A_1=b c"',
    'tunnel="3"',
    'tunnel="Any"',
    'tunnel=" +1"',
  ],
  ...[
    'permitopen="h:80"',
    'permitopen="[::1]:*"',
    'permitopen=":80"',
    'permitlisten="80"',
    'permitlisten="*:80"',
  ],
])("%s does not limit the terminal", (option) => {
  expect(readKeyOptions(`${option} ssh-ed25519`)).toEqual(NONE);
});

test.each([
  ...[
    "restrict",
    "no-pty",
    'command="ls"',
    'command=""',
    "RESTRICT",
    "restrict,pty",
    "no-pty,pty",
    "pty,no-pty",
  ],
])("%s limits the terminal", (option) => {
  expect(readKeyOptions(option)).toEqual({ ...NONE, isLimited: true });
});

test("from and expiry-time are read", () => {
  expect(readKeyOptions('from="10.*"')).toEqual({ ...NONE, from: "10.*" });
  expect(readKeyOptions('expiry-time="20310101Z",expiry-time="20300101Z"')).toEqual({
    ...{ ...NONE, expiresAtS: Date.UTC(2030) / 1000 },
  });
});

test.each(["cert-authority", 'principals="a"', 'restrict,principals="a"'])(
  "%s is for certificates",
  (options) => {
    expect(readKeyOptions(options)).toBeUndefined();
  },
);

test.each([
  ...['from="a",from="a"', 'command="a",command="a"', 'principals="a",principals="a"'],
  ...['expiry-time="never"', 'expiry-time="20300101Z",expiry-time="x"'],
  ...[
    'environment="A"',
    'environment="=b"',
    'environment="A-B=c"',
    'tunnel="x"',
    'tunnel="2147483646"',
    'tunnel=""',
  ],
  ...['permitopen="80"', 'permitopen="h"', 'permitopen="h:0"', 'permitopen="h:65536"', 'permitopen="a/b:80"'],
  ...[
    'permitopen="[::1:80"',
    'permitlisten="x"',
    'permitopen="h:1:2"',
    `permitopen="${"h".repeat(1_025)}:80"`,
  ],
])("%s makes the line invalid", (options) => {
  expect(readKeyOptions(options)).toBeUndefined();
});

test("no line makes it throw", () => {
  const name = fc.constantFrom("from", "expiry-time", "environment", "permitopen", "permitlisten", "tunnel");
  const line = fc.tuple(name, fc.string({ unit: "binary" })).map(([each, value]) => `${each}="${value}"`);
  fc.assert(fc.property(line, (each) => void readKeyOptions(each)));
});
