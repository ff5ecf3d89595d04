import { execFile } from "node:child_process";
import { promisify } from "node:util";

const TIMEOUT_MS = 60_000;

/**
 * The output of a program for two tries, with a comma between them: `attempt`, an expression, is awaited when no file
 * descriptor is left, and again when there are some. `before`: statements of a module. It leads a session of its own.
 */
export async function triedWithoutDescriptors(before: string, attempt: string): Promise<string> {
  const script = `
    import { closeSync, openSync } from "node:fs";
    ${before}
    const open = [];
    try {
      for (;;) open.push(openSync("/dev/null"));
    } catch {}
    const first = await ${attempt};
    open.forEach((fd) => closeSync(fd));
    process.stdout.write([first, await ${attempt}].join());
  `;
  const limited = 'ulimit -n 64; exec setsid "$0" --input-type=module --eval "$1"';
  const { stdout } = await promisify(execFile)("sh", ["-c", limited, process.execPath, script], {
    timeout: TIMEOUT_MS,
  });
  return stdout;
}
