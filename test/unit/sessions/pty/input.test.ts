import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempDisposableSync, openSync, readSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PtyInput } from "../../../../src/sessions/pty/input.ts";

/** A non-blocking pipe in place of a terminal: it takes 64 KiB without a reader, then fails with EAGAIN. */
function openPipe(): Disposable & { readonly fd: number; read(limit: number): Uint8Array } {
  const directory = mkdtempDisposableSync(join(tmpdir(), "pty-input-"));
  const path = join(directory.path, "pipe");
  execFileSync("mkfifo", [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  return {
    fd,
    read(limit) {
      const buffer = new Uint8Array(limit);
      try {
        return buffer.subarray(0, readSync(fd, buffer));
      } catch {
        return buffer.subarray(0, 0);
      }
    },
    [Symbol.dispose]() {
      closeSync(fd);
      directory.remove();
    },
  };
}

function numbered(length: number, first: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (first + index) % 251);
}

test("input arrives once and in order, however it is written and read", async () => {
  const step = fc.oneof(
    fc.record({ write: fc.integer({ min: 0, max: 100_000 }) }),
    fc.record({ read: fc.integer({ min: 1, max: 100_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      using pipe = openPipe();
      using input = new PtyInput(pipe.fd);
      const seen: Uint8Array[] = [];
      let written = 0;
      for (const next of steps) {
        if ("read" in next) {
          seen.push(pipe.read(next.read));
        } else {
          const bytes = numbered(next.write, written);
          input.write(bytes);
          bytes.fill(255);
          written += next.write;
        }
      }
      while (seen.reduce((sum, bytes) => sum + bytes.length, 0) < written) {
        seen.push(pipe.read(65_536));
        if (input.pendingBytes > 0) await setTimeout(1);
      }
      expect(Buffer.concat(seen).equals(numbered(written, 0))).toBe(true);
      expect(input.pendingBytes).toBe(0);
    }),
    { numRuns: 30 },
  );
});

test("pending input is counted, and dropped at disposal", () => {
  using pipe = openPipe();
  const input = new PtyInput(pipe.fd);
  input.write(new Uint8Array(65_536 + 1000));
  expect(input.pendingBytes).toBe(1000);
  input.write(new Uint8Array(1));
  expect(input.pendingBytes).toBe(1001);
  input[Symbol.dispose]();
  expect(input.pendingBytes).toBe(0);
  input.write(new Uint8Array(1));
  expect(input.pendingBytes).toBe(0);
});

test("refused input is dropped", () => {
  const fd = openSync("/dev/null", constants.O_RDONLY);
  using input = new PtyInput(fd);
  input.write(new Uint8Array(10));
  closeSync(fd);
  expect(input.pendingBytes).toBe(0);
});
