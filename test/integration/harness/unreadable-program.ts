import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { Program } from "./program.ts";

/**
 * A program of python3 that keeps others from reading about it for 8 s, by a file system of its own in the folder argv[1].
 *
 * argv[2] is "memory": the file system answers the first reads of a file with errors. The kernel reads again, and keeps the lock
 * of the program's memory meanwhile. Another thread waits to change that memory, and whoever reads it waits behind.
 * "exec": the program executes another one, and the kernel waits for the file system to close a file.
 *
 * Prints "locked" then, or "refused" without user namespaces or FUSE. The file system alone has FUSE open, so that its end frees
 * the program.
 */
const UNREADABLE = `
import ctypes, glob, os, struct, sys, threading, time
libc = ctypes.CDLL(None)
def refuse(*_): print("refused", flush=True); os._exit(1)
sys.excepthook = refuse
uid, gid = os.getuid(), os.getgid()
if libc.unshare(0x10020000) != 0: refuse()
for name, text in ("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1"):
    open("/proc/self/" + name, "w").write(text)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse
if libc.mount(b"fuse", sys.argv[1].encode(), b"fuse", 0, options) != 0: refuse()
program = os.getpid()
def serve():
    reads = 0
    while True:
        _, operation, unique, node = struct.unpack_from("<IIQQ", os.read(fuse, 1 << 17))
        def reply(data=b"", error=0): os.write(fuse, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
        mode = 0o40755 if node == 1 and operation != 1 else 0o100444
        attributes = struct.pack("<6Q10I", 2, 4096, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
        if operation == 26: reply(struct.pack("<4I2H2I2HI", 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0, 0) + bytes(28))
        elif operation == 1: reply(struct.pack("<4Q2I", 2, 0, 100, 100, 0, 0) + attributes)
        elif operation == 3: reply(struct.pack("<Q2I", 100, 0, 0) + attributes)
        elif operation == 14: reply(struct.pack("<Q2I", 1, 0, 0))
        elif operation == 15 and reads < 2: reads += 1; reply(error=-5)
        elif operation == 15:
            states = lambda: [open(name).read().rsplit(")")[1][1] for name in glob.glob(f"/proc/{program}/task/*/stat")]
            while "D" not in states(): time.sleep(0.01)
            print("locked", flush=True); time.sleep(8); reply()
        elif operation == 25: print("locked", flush=True); time.sleep(8); os._exit(0)
        elif operation not in (2, 42): reply(error=-38)
if os.fork() == 0: serve()
os.close(fuse)
file = os.open(sys.argv[1] + "/file", os.O_RDONLY)
if sys.argv[2] == "exec": os.execv("/bin/sleep", ["sleep", "60"])
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
page = libc.mmap(None, 4096, 1, 1, file, 0)
threading.Thread(target=lambda: libc.memcmp(page, ctypes.create_string_buffer(8), 8)).start()
while True: time.sleep(0.1); libc.mmap(None, 4096, 3, 0x22, -1, 0)
`;

/** That program, once it keeps others from reading; skips the test where that is not possible. */
export async function startUnreadable(
  kind: "memory" | "exec",
  context: Pick<TestContext, "skip">,
): Promise<{ readonly program: Program } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-fuse-")));
  const program = stack.use(new Program("python3", ["-c", UNREADABLE, path, kind]));
  const [state] = await program.shows(/locked|refused/);
  context.skip(state === "refused", "no user namespace, or no FUSE");
  const owned = stack.move();
  return { program, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
