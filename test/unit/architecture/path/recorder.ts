// Prints the files of src whose functions run while one byte of output, and one key, passes from end to end: a session
// host and a server in this process, a program on a real terminal, and a client on a real socket. Plain Node runs it,
// without a loader between the files and V8's counts.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { constants, openSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import net, { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { startServer, startSessionHost } from "../../../../src/app.ts";
import { parseConfig, parseHostConfig } from "../../../../src/config/config.ts";
import { decodeFrame, encodeFrame, FrameType } from "../../../../src/protocol/frame/frame.ts";
import { encodeSubscribe, SubscribeFlag } from "../../../../src/protocol/frame/payload.ts";
import { Coverage, contextIn, inputIn, OWN } from "./coverage.ts";

/** More than one, so that a timer that fires in between belongs to none. */
const RUNS = 5;
const coverage = new Coverage();
/** The frames that are followed, and the files that have run for them so far. */
let followed: { readonly type: number; readonly files: Set<string> } | undefined;

function isFollowed(message: unknown): boolean {
  return message instanceof Uint8Array && message[3] === followed?.type;
}

function collect(): void {
  for (const file of coverage.take()) followed?.files.add(file);
}

/** Work counts from the moment that a process receives such a frame until it sends it on, or has dealt with it. */
const { emit, send } = WebSocket.prototype;
WebSocket.prototype.emit = function (this: WebSocket, name: string | symbol, ...values: unknown[]): boolean {
  const isOurs = name === "message" && isFollowed(values[0]);
  if (isOurs) coverage.take();
  const result = Reflect.apply(emit, this, [name, ...values]);
  if (isOurs) collect();
  return result;
};
WebSocket.prototype.send = function (this: WebSocket, ...values: unknown[]): void {
  if (isFollowed(values[0])) collect();
  Reflect.apply(send, this, values);
};
/** The server's end of the connection to its session host is a plain socket. */
const { connect } = net;
const connectRecorded = (options: net.NetConnectOpts): net.Socket => {
  const { onread } = options;
  if (onread === undefined) return connect(options);
  const callback = (length: number, buffer: Uint8Array): boolean => {
    const isOurs = isFollowed(payloadIn(buffer.subarray(0, length)));
    if (isOurs) coverage.take();
    const result = onread.callback(length, buffer);
    if (isOurs) collect();
    return result;
  };
  const socket = connect({ ...options, onread: { ...onread, callback } });
  const write = socket.write.bind(socket);
  const writeRecorded = (message: Uint8Array | string): boolean => {
    if (typeof message !== "string" && isFollowed(payloadIn(message))) collect();
    return write(message);
  };
  return Object.assign(socket, { write: writeRecorded });
};
Object.assign(net, { connect: connectRecorded });
syncBuiltinESMExports();

/** After the header of a WebSocket message (RFC 6455 5.2). The server masks with zeros. */
function payloadIn(message: Uint8Array): Uint8Array {
  const [, second = 0] = message;
  const sizes: Readonly<Record<number, number>> = { 126: 4, 127: 10 };
  const maskBytes = (second & 0x80) >> 5;
  return message.subarray((sizes[second & 0x7f] ?? 2) + maskBytes);
}

/** The files that run each time that `work` passes a frame of that type. */
async function filesOf(type: number, work: () => Promise<void>): Promise<readonly string[]> {
  let common: Set<string> | undefined;
  for (let run = 0; run <= RUNS; run++) {
    const files = new Set<string>();
    await coverage.settled();
    followed = { type, files };
    await work();
    followed = undefined;
    // The first one warms up: it loads and connects.
    if (run > 0) common = common?.intersection(files) ?? files;
  }
  return [...(common ?? [])].sort();
}

await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-path-"));
const { path } = folder;
const fifos = { toProgram: join(path, "to"), fromProgram: join(path, "from") };
execFileSync("mkfifo", [fifos.toProgram, fifos.fromProgram]);
await using _host = await startSessionHost(parseHostConfig(inputIn(path, {})), contextIn(path));
await using server = await startServer(parseConfig(inputIn(path, OWN)), contextIn(path));
// What it reads from one FIFO it prints; what is typed goes to the other.
const script = `stty raw -echo; cat '${fifos.toProgram}' & exec cat > '${fifos.fromProgram}'`;
const created = await fetch(`${server.url}/api/sessions`, {
  ...{ method: "POST", headers: { "content-type": "application/json" } },
  body: JSON.stringify({ command: ["sh", "-c", script] }),
});
const { id } = Object(await created.json());
const client = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
await once(client, "open");
const subscribed = Promise.withResolvers<void>();
let printed = Promise.withResolvers<void>();
client.on("message", (message: Uint8Array) => {
  const { type } = decodeFrame(message);
  if (type === FrameType.SUBSCRIBED) subscribed.resolve();
  if (type === FrameType.OUTPUT) printed.resolve();
});
const flags = SubscribeFlag.Stdout | SubscribeFlag.Events | SubscribeFlag.Offsets;
client.send(encodeFrame(FrameType.SUBSCRIBE, id, encodeSubscribe({ flags, from: "live" })));
await subscribed.promise;
const key = encodeFrame(FrameType.INPUT_TEXT, id, new TextEncoder().encode("k"));

// For reading and writing at once: opening waits for nobody then.
const open = (fifo: string): number => openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
const toProgram = new Socket({ fd: open(fifos.toProgram), readable: false, writable: true });
const typed = new Socket({ fd: open(fifos.fromProgram), readable: true, writable: false });

const byte = await filesOf(FrameType.OUTPUT, async () => {
  printed = Promise.withResolvers();
  toProgram.write("x");
  await printed.promise;
});
const keyPress = await filesOf(FrameType.INPUT_TEXT, async () => {
  client.send(key);
  await once(typed, "data");
});
process.stdout.write(JSON.stringify({ byte, key: keyPress }));
client.terminate();
typed.destroy();
toProgram.destroy();
