import { expect, test } from "vitest";
import { DiskCare } from "../../../src/lib/disk-care.ts";

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: told by the system`), { code });
}

/** Every message of the log, in order; `right` resolves when nothing waits any more. */
function careWithLog() {
  const messages: string[] = [];
  const { promise: right, resolve } = Promise.withResolvers<void>();
  const log = {
    info: (_: object, message: string) => {
      messages.push(message);
      resolve();
    },
    error: (_: object, message: string) => void messages.push(message),
  };
  return { messages, right, care: new DiskCare({ log, path: "/", now: () => performance.now() }) };
}

test.concurrent.each([
  ...["ENOSPC", "EDQUOT", "EROFS", "EIO"],
  ...["EMFILE", "ENFILE", "ENOMEM", "ETIMEDOUT"],
])("what fails with %s is tried again until it is written", async (code) => {
  const { care, messages, right } = careWithLog();
  await using _care = care;
  let tries = 0;
  await care.attempt("a file", async () => {
    tries += 1;
    if (tries < 3) throw failure(code);
  });
  await right;
  expect(tries).toBe(3);
  expect(care.isWaiting).toBe(false);
  expect(messages).toEqual(["disk not written: what is to be stored waits", "disk written again"]);
});

test("what fails for any other reason is not", async () => {
  const { care } = careWithLog();
  await using _care = care;
  const attempt = care.attempt("a file", async () => {
    throw failure("ENOENT");
  });
  await expect(attempt).rejects.toThrow("ENOENT");
  expect(care.isWaiting).toBe(false);
});
