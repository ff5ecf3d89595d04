// Logins, from the configuration and the files of earlier runs.
import { randomBytes } from "node:crypto";
import type { Accounts } from "../auth/accounts/accounts.ts";
import type { Gate } from "../auth/gate.ts";
import type { LoginConfig } from "../config/login.ts";
import type { RecordStore, SharedRecordStore } from "../lib/data/live-records.ts";
import { DiskCare } from "../lib/fs/disk-care.ts";
import { Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";
import type { ServerParts } from "./server-context.ts";

const PROXY_PROOF_BYTES = 32;

/** `proxyProof` authenticates our own reverse proxy; new at each start. Disposal ends `accounts` and stores what waits. */
export async function openGate(
  parts: ServerParts & {
    readonly machineToken: Secret | undefined;
    /** Shared by a group of HQs; `undefined`: the server has its own file. */
    readonly sharedRecords: SharedRecordStore | undefined;
  },
): Promise<Gate & AsyncDisposable & { readonly proxyProof: Secret; readonly accounts: Accounts }> {
  const { config, context, controlDir, machineToken, sharedRecords, log } = parts;
  // Imported on demand: a session host saves 15 MB.
  const [{ createGate }, { Accounts }, { openFactorFile, sharedFactors }] = await Promise.all([
    import("../auth/gate.ts"),
    import("../auth/accounts/accounts.ts"),
    import("../auth/passkey/factor-store.ts"),
  ]);
  await using stack = new AsyncDisposableStack();
  const accounts = stack.use(new Accounts(() => performance.now()));
  const care = stack.use(new DiskCare({ log, path: controlDir.path, now: () => performance.now() }));
  const { role } = config;
  const proxyProof = Secret.fromText(randomBytes(PROXY_PROOF_BYTES).toString("base64url"));
  const gate = await createGate({
    config: config.auth,
    serverUser: config.serverUser,
    isRoot: context.isRoot,
    serverHome: context.account.home,
    tokenSecret: config.tokenSecret,
    secretFile: controlDir.secret,
    openRecords: async () => sharedRecords ?? (await ownRecords({ controlDir, care, log })),
    group: sharedRecords,
    openFactors: async () =>
      sharedRecords === undefined ? await openFactorFile(controlDir.passkeys) : sharedFactors(sharedRecords),
    hqCredentials: role.kind === "hq" ? role.credentials : undefined,
    openRegistration: role.kind === "hq" && role.joining.isOpen,
    ...{ machineToken, proxyProof, accounts, log },
  });
  const logout = config.proxyServe?.oidc === undefined ? {} : { logoutPath: "/.proxy/logout" };
  const owned = stack.move();
  const ended = { [Symbol.asyncDispose]: () => owned.disposeAsync() };
  return { ...gate, ...ended, config: { ...gate.config, ...logout }, proxyProof, accounts };
}

/** Fails on a full disk, and writes later, so that revocations are not lost. */
async function ownRecords(parts: {
  readonly controlDir: ControlDir;
  readonly care: DiskCare;
  readonly log: Log;
}): Promise<RecordStore> {
  const { controlDir, care, log } = parts;
  const { openFileRecords } = await import("../auth/tokens/file-records.ts");
  return await openFileRecords({
    ...{ path: controlDir.logins, now: () => Date.now(), log },
    store: (write) => care.insist("logins", write),
  });
}

/** Users and groups in options. */
export function namedIn(auth: LoginConfig): Record<"users" | "groups", ReadonlySet<string>> {
  if (auth.mode === "none") return { users: new Set(), groups: new Set() };
  const { allowUsers, adminUsers, roles } = auth;
  const users = roles.flatMap((rule) => ("user" in rule ? [rule.user] : []));
  const groups = roles.flatMap((rule) => ("group" in rule ? [rule.group] : []));
  return { users: new Set([...allowUsers, ...adminUsers, ...users]), groups: new Set(groups) };
}
