// Syslog: RFC 5424 messages over a unix socket, UDP (RFC 5426), or TCP with octet counting (RFC 6587).
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, isIPv6, type Socket } from "node:net";
import { getSystemErrorName } from "node:util";
import { withDeadline } from "../../lib/async/deadline.ts";
import { loadNative } from "../../lib/os/installation.ts";
import type { AuditReceiver } from "./shipper.ts";

type SyslogTarget =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "udp" | "tcp"; readonly host: string; readonly port: number };

/** `send` resolves with the number of messages that were sent; `signal` aborts it. */
type Sender = Disposable & { send(messages: readonly Buffer[], signal: AbortSignal): Promise<number> };

const DELIVERY_TIMEOUT_MS = 10_000;
/** "authpriv", which syslog daemons keep in a file for root alone. */
const FACILITY = 10;
/** RFC 5424, table 2. */
const Severity = { Critical: 2, Warning: 4, Informational: 6 } as const;

const PARTS = /"time":"([^"]*)","action":"([^"]*)","result":"([^"]*)"/;

export function syslogReceiver(target: SyslogTarget, hostname: string): AuditReceiver {
  const sender = senderTo(target);
  const header = { hostname: printable(hostname), pid: process.pid };
  const name =
    target.kind === "unix"
      ? `syslog:${target.path}`
      : `syslog+${target.kind}://${target.host}:${target.port}`;
  return {
    name,
    deliver: (lines) => {
      const messages = lines.map((line) => messageOf(line, header));
      return withDeadline((signal) => sender.send(messages, signal), DELIVERY_TIMEOUT_MS, name);
    },
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  };
}

/** An RFC 5424 message with the line as text and the action as MSGID. */
export function messageOf(
  line: string,
  { hostname, pid }: { readonly hostname: string; readonly pid: number },
): Buffer {
  const [, time = "-", action = "-", result] = PARTS.exec(line) ?? [];
  const severity =
    action === "audit.break"
      ? Severity.Critical
      : result === "ok"
        ? Severity.Informational
        : Severity.Warning;
  const text = line.endsWith("\n") ? line.slice(0, -1) : line;
  return Buffer.from(`<${FACILITY * 8 + severity}>1 ${time} ${hostname} ttyhq ${pid} ${action} - ${text}`);
}

function senderTo(target: SyslogTarget): Sender {
  if (target.kind === "unix") return unixSender(target.path);
  const { kind, host, port } = target;
  return kind === "udp" ? udpSender(host, port) : tcpSender(host, port);
}

function unixSender(path: string): Sender {
  return {
    send: async (messages) => {
      const { sendUnixDatagram }: NativeModule = loadNative("ttyhq.node");
      for (const [count, message] of messages.entries()) {
        const problem = sendUnixDatagram(path, message);
        if (problem === 0) continue;
        if (count > 0) return count;
        throw new Error(`cannot send to ${path}: ${getSystemErrorName(-problem)}`);
      }
      return messages.length;
    },
    [Symbol.dispose]: () => undefined,
  };
}

function udpSender(host: string, port: number): Sender {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4").unref();
  // `send` reports failures.
  socket.on("error", () => undefined);
  return {
    send: async (messages) => {
      for (const message of messages) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        socket.send(message, port, host, (error) => (error === null ? resolve() : reject(error)));
        await promise;
      }
      return messages.length;
    },
    [Symbol.dispose]: () => void socket.close(),
  };
}

/** Unread messages are lost if the receiver disconnects: TCP has no acknowledgement per message. */
function tcpSender(host: string, port: number): Sender {
  let socket: Socket | undefined;
  const open = async (): Promise<Socket> => {
    if (socket?.writable === true) return socket;
    const opened = connect({ host, port, keepAlive: true }).unref();
    socket = opened;
    // Notices the end of the connection.
    opened.resume();
    await once(opened, "connect");
    opened.on("error", () => opened.destroy());
    return opened;
  };
  return {
    send: async (messages, signal) => {
      signal.addEventListener("abort", () => socket?.destroy(), { once: true });
      const opened = await open();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const frames = messages.flatMap((message) => [Buffer.from(`${message.length} `), message]);
      opened.write(Buffer.concat(frames), (error) => (error ? reject(error) : resolve()));
      await promise;
      return messages.length;
    },
    [Symbol.dispose]: () => void socket?.destroy(),
  };
}

type NativeModule = { sendUnixDatagram(path: string, message: Buffer): number };

/** RFC 5424 allows printable ASCII. */
function printable(hostname: string): string {
  return hostname.replaceAll(/[^\x21-\x7e]/g, "").slice(0, 255) || "-";
}
