import { expect, test } from "vitest";
import { DiskCare } from "../../../../src/lib/fs/disk-care.ts";

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

test("other failures are not retried", async () => {
  const { care } = careWithLog();
  await using _care = care;
  const attempt = care.attempt("a file", async () => {
    throw failure("ENOENT");
  });
  await expect(attempt).rejects.toThrow("ENOENT");
  expect(care.isWaiting).toBe(false);
});

test.concurrent("writes of one name are serialised: a retry ends before the next write begins", async () => {
  const { care, right } = careWithLog();
  await using _care = care;
  const seen: string[] = [];
  const begun = Promise.withResolvers<void>();
  const disk = Promise.withResolvers<void>();
  await care.attempt("a file", async () => {
    seen.push("tried");
    if (seen.length === 1) throw failure("ENOSPC");
    begun.resolve();
    await disk.promise;
    seen.push("written");
  });
  await begun.promise;
  const later = care.insist("a file", async () => void seen.push("newer"));
  await care.insist("another file", async () => void seen.push("another"));
  disk.resolve();
  await Promise.all([later, right]);
  expect(seen).toEqual(["tried", "tried", "another", "written", "newer"]);
});
