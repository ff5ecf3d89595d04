// The audit log of a server, and the hooks that write to it.
import type { Audit } from "../audit/entry.ts";
import type { AuditFile } from "../audit/file/audit-file.ts";
import type { AuditReceiver, Shipper } from "../audit/ship/shipper.ts";
import type { Accounts } from "../auth/accounts/accounts.ts";
import type { Config } from "../config/config.ts";
import { type AuditDestination, headersIn } from "../config/options/audit.ts";
import type { RequestAuditHook } from "../http/audit-hook.ts";
import type { UpgradeOptions } from "../http/upgrade.ts";
import type { SharedLines } from "../lib/data/live-records.ts";
import type { AuditPage, AuditQuery } from "../protocol/schemas/audit.ts";
import { createSender } from "../remote/send.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { Access } from "./access.ts";
import { namedIn } from "./gate.ts";
import type { ServerParts } from "./server-context.ts";

export type Auditing = Disposable & {
  /** For listeners: anyone can cause refusals, which are limited. */
  readonly audit: Audit;
  readonly auditHook: RequestAuditHook;
  /** A client's sessions, with an audit hook. */
  readonly viewOf: NonNullable<UpgradeOptions["viewOf"]>;
};

/** The audit log and its receivers. Disposal writes and ships the rest. */
export type AuditLog = Audit &
  AsyncDisposable &
  Pick<AuditFile, "counts"> & {
    readonly shippers: readonly Shipper[];
    /** Of this server, or of all HQs that share lines. */
    readonly page: (query: AuditQuery) => Promise<AuditPage>;
    /** Shares the lines from now on, until it is disposed of, which sends the rest. */
    readonly share: (lines: SharedLines) => Promise<AsyncDisposable>;
  };

/** Throws `start_failed` for an unusable path. Imports on demand: a session host does not load these modules. */
export async function openAuditLog(parts: ServerParts): Promise<AuditLog> {
  const { config, context, controlDir, log } = parts;
  const { AuditFile } = await import("../audit/file/audit-file.ts");
  const { readAudit } = await import("../audit/file/reader.ts");
  const { sealedHead } = await import("../audit/file/sealed-head.ts");
  const path = config.auditLog ?? controlDir.audit.log;
  const files = { ...controlDir.audit, log: path };
  await using stack = new AsyncDisposableStack();
  let file: AuditFile | undefined;
  const audit: Audit = { write: (entry) => file?.write(entry) };
  const own = await openShippers({ ...parts, audit });
  stack.defer(async () => void (await Promise.all(own.map((each) => each[Symbol.asyncDispose]()))));
  const shippers = [...own];
  let page = (query: AuditQuery): Promise<AuditPage> => readAudit(path, query);
  const ship = (lines: readonly string[]): void => shippers.forEach((shipper) => void shipper.ship(lines));
  const opened = stack.use(await AuditFile.open({ path, head: sealedHead(files, log), log, ship }));
  file = opened;
  const owned = stack.move();
  return {
    ...{ write: audit.write, shippers, page: (query) => page(query) },
    share: async (lines) => {
      const { Shipper } = await import("../audit/ship/shipper.ts");
      const { readSharedAudit, registryReceiver } = await import("../audit/shared-log.ts");
      const receiver = registryReceiver(lines, context.hostname);
      const shipper = new Shipper({ receiver, audit, log, random: Math.random });
      shippers.push(shipper);
      page = (query) => readSharedAudit(lines, query);
      return {
        [Symbol.asyncDispose]: async () => {
          await opened.flushed().catch(() => undefined);
          await shipper[Symbol.asyncDispose]();
        },
      };
    },
    get counts() {
      return opened.counts;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function openShippers(parts: ServerParts & { readonly audit: Audit }): Promise<Shipper[]> {
  const { config, context, audit, log } = parts;
  const { to, headers } = config.auditShipping;
  if (to.length === 0) return [];
  const { Shipper } = await import("../audit/ship/shipper.ts");
  const { httpReceiver } = await import("../audit/ship/http-receiver.ts");
  const { stdoutReceiver } = await import("../audit/ship/stdout-receiver.ts");
  const { syslogReceiver } = await import("../audit/ship/syslog-receiver.ts");
  const receiverOf = (destination: AuditDestination): AuditReceiver => {
    if (destination.kind === "stdout") return stdoutReceiver(context.stdout);
    if (destination.kind === "syslog") return syslogReceiver(destination.to, context.hostname);
    const { url } = destination;
    const sender = createSender({ url, headers: {}, ca: config.trustedCa });
    return httpReceiver({ url, headers: (headers && headersIn(headers)) ?? {}, sender });
  };
  return to.map((each) => new Shipper({ receiver: receiverOf(each), audit, log, random: Math.random }));
}

/** Audits everything from the server's start to its stop. */
export async function openAuditing(
  parts: ServerParts & {
    readonly audit: Audit;
    readonly backend: SessionBackend;
    readonly access: Pick<Access, "viewOf">;
    readonly gate: { readonly accounts: Pick<Accounts, "lookUp"> };
  },
): Promise<Auditing> {
  const { audit, config, context, backend, access, gate } = parts;
  const { Auditor } = await import("../audit/auditor.ts");
  const isAccount = async (name: string): Promise<boolean> =>
    (await gate.accounts.lookUp(name)).account !== undefined;
  const remoteOf = async (sessionId: string): Promise<string | undefined> => {
    const record = (await backend.list()).find(({ id }) => id === sessionId);
    return record?.remoteName ?? record?.source;
  };
  const auditor = new Auditor({
    ...{ audit, users: knownUsers(config), now: () => performance.now() },
    ...(config.role.kind === "hq" ? { remoteOf } : {}),
    ...(isOfSystem(config) ? { isAccount } : {}),
  });
  const details = { version: context.version, mode: config.role.kind, pid: process.pid };
  audit.write({ action: "server.start", result: "ok", details });
  return {
    audit: auditor,
    auditHook: auditor.request,
    viewOf: (principal, address) => ({
      ...access.viewOf(principal),
      auditHook: auditor.client({ principal, address }),
    }),
    [Symbol.dispose]: () => {
      auditor[Symbol.dispose]();
      audit.write({ action: "server.stop", result: "ok", details });
    },
  };
}

function knownUsers({ auth, serverUser }: Config): readonly string[] {
  const password = auth.mode === "login" ? auth.password : undefined;
  const configured = password?.kind === "configured" ? [password.username] : [];
  return [serverUser, ...configured, ...namedIn(auth).users];
}

/** Whether system users log in. */
function isOfSystem({ auth }: Config): boolean {
  return auth.mode === "login" && (auth.password?.kind === "system" || auth.sshKeys);
}
