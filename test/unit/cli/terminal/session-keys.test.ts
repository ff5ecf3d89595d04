import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { parseDetachKeys } from "../../../../src/cli/terminal/detach-keys.ts";
import { SessionKeys, type SessionKeysOptions } from "../../../../src/cli/terminal/session-keys.ts";
import { Terminal } from "../../../../src/cli/terminal/terminal.ts";

/** A terminal or pipe as input, and the text that the session gets. */
function typing({ isTTY = true, ...more }: Partial<SessionKeysOptions> & { readonly isTTY?: boolean } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const detached = Promise.withResolvers<void>();
  const written: number[] = [];
  const keys = new SessionKeys({
    terminal: new Terminal({ stdin, stdout }),
    detachKeys: parseDetachKeys("ctrl-p,ctrl-q"),
    isReadOnly: false,
    inputEnd: "eof",
    write: async (bytes) => void written.push(...bytes),
    detach: () => detached.resolve(),
    refused: (error) => detached.reject(error),
    ...more,
  });
  return {
    stdin,
    detached: detached.promise,
    get text() {
      return String.fromCharCode(...written);
    },
    [Symbol.dispose]: () => keys[Symbol.dispose](),
  };
}

/** Resolves when all earlier input has been read. */
async function read(stdin: PassThrough): Promise<void> {
  await new Promise((resolve) => stdin.write("", resolve));
  await new Promise((resolve) => setImmediate(resolve));
}

describe("on a terminal", () => {
  test("keys go to the session until the detach keys", async () => {
    using user = typing();
    user.stdin.write("ls\r\x10\x11");
    await user.detached;
    expect(user.text).toBe("ls\r");
  });

  test("the first detach key alone goes to the session after a while", async () => {
    const arrived = Promise.withResolvers<void>();
    const got: number[] = [];
    using user = typing({
      write: async (bytes) => {
        got.push(...bytes);
        arrived.resolve();
      },
    });
    user.stdin.write("\x10");
    await arrived.promise;
    expect(got).toEqual([0x10]);
  });

  test.each(["\x03", "\x1b[99;5u", "\x1b[27;5;99~"])(
    "a read-only session gets no input, and ctrl-c detaches, also as %j",
    async (ctrlC) => {
      using user = typing({ isReadOnly: true });
      user.stdin.write(`rm -rf\r${ctrlC}`);
      await user.detached;
      expect(user.text).toBe("");
    },
  );

  test("ctrl-c goes to a session that is not read-only", async () => {
    using user = typing();
    user.stdin.write("\x03");
    await read(user.stdin);
    expect(user.text).toBe("\x03");
  });

  test("input that the server refuses is reported", async () => {
    using user = typing({ write: async () => Promise.reject(new Error("no link")) });
    user.stdin.write("x");
    await expect(user.detached).rejects.toThrow("no link");
  });

  test("a terminal that is closed detaches", async () => {
    using user = typing();
    user.stdin.end();
    await user.detached;
  });
});

describe("from a pipe", () => {
  test("the bytes of the detach keys go to the session", async () => {
    using user = typing({ isTTY: false });
    user.stdin.write("\x10\x11");
    await read(user.stdin);
    expect(user.text).toBe("\x10\x11");
  });

  test.each([
    ["two\nlines\n", "two\nlines\n\x04"],
    ["half a line", "half a line\x04\x04"],
    ["", "\x04"],
  ])("the end of %j is ctrl-d to the program", async (input, expected) => {
    using user = typing({ isTTY: false });
    user.stdin.end(input);
    await expect.poll(() => user.text).toBe(expected);
  });

  test('the end of the pipe detaches with inputEnd "detach"', async () => {
    using user = typing({ isTTY: false, inputEnd: "detach" });
    user.stdin.end("x");
    await user.detached;
    expect(user.text).toBe("x");
  });

  test("reading pauses while the session does not accept input", async () => {
    const taken = Promise.withResolvers<void>();
    let count = 0;
    using user = typing({
      isTTY: false,
      write: async (bytes) => {
        count += bytes.length;
        await taken.promise;
      },
    });
    const chunk = Buffer.alloc(64 * 1024);
    for (let i = 0; i < 20; i += 1) user.stdin.write(chunk);
    await expect.poll(() => user.stdin.isPaused()).toBe(true);
    expect(count).toBeLessThanOrEqual(5 * chunk.length);
    taken.resolve();
    await expect.poll(() => count).toBe(20 * chunk.length);
  });
});
