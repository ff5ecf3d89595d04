import { isLoopbackName } from "../lib/net/address.ts";
import type { Credentials, Secret } from "../lib/secret.ts";
import type { SecretOption, ValueOption } from "./options/option.ts";
import { OPTIONS } from "./options/options.ts";
import type { OptionReader } from "./sources/reader.ts";

/** `isPasswordDisallowed`: --disallow-user-password was given, without effect here. */
type NoLogin = { readonly mode: "none"; readonly isPasswordDisallowed: boolean };
export type LoginConfig = NoLogin | ReturnType<typeof readModes>;

/** By default with the password of a system user (specification 5.1). */
export function readLogin(
  reader: OptionReader,
  context: { readonly host: string; readonly isHq: boolean },
): LoginConfig {
  const service = readPair(reader, [OPTIONS.serviceUsername, OPTIONS.servicePassword]);
  const hq = readPair(reader, [OPTIONS.username, OPTIONS.password]);
  // Without --hq these two are refused elsewhere.
  const pairs = context.isHq ? [hq, service] : [service];
  const localBypass = readLocalBypass(reader);
  if (reader.isOn(OPTIONS.noAuth)) {
    if (!isLoopbackName(context.host)) {
      reader.warn(
        `--no-auth on ${context.host}: everyone who reaches this address runs programs as the server's user; give --bind 127.0.0.1 to keep other machines out`,
      );
    }
    warnOfUnused(reader, "--no-auth", pairs);
    return { mode: "none", isPasswordDisallowed: reader.isOn(OPTIONS.disallowUserPassword) };
  }
  for (const { options } of pairs) reader.refuseIncomplete(options, BOTH_OR_NONE);
  refuseDifferent(reader, pairs);
  return readModes(reader, pairs, localBypass);
}

function readModes(
  reader: OptionReader,
  pairs: readonly Pair[],
  localBypass: { readonly token: Secret | undefined } | undefined,
) {
  const isWithoutPassword = reader.isOn(OPTIONS.disallowUserPassword);
  const credentials = pairs.map((pair) => pair.credentials).find((each) => each !== undefined);
  const configured = credentials && ({ kind: "configured", ...credentials } as const);
  if (isWithoutPassword) {
    const because = reader.sourceOf(OPTIONS.disallowUserPassword) ?? "";
    reader.imply(OPTIONS.enableSshKeys, { text: "true", because });
  }
  return {
    mode: "login",
    /** `undefined` with --disallow-user-password. "configured": SERVICE_USERNAME, or `--username` of an HQ. */
    password: isWithoutPassword ? undefined : (configured ?? { kind: "system" }),
    /** Whether users without a passkey must create one. */
    requireSecondFactor: reader.isOn(OPTIONS.requireSecondFactor),
    /** `undefined`: an unused login lasts until it expires. */
    idleTimeoutMs: reader.value(OPTIONS.loginIdleTimeout),
    sshKeys: isWithoutPassword || reader.isOn(OPTIONS.enableSshKeys),
    /** Prints a one-time login link at startup. */
    loginLink: reader.isOn(OPTIONS.loginLink),
    allowUsers: reader.list(OPTIONS.allowUser),
    adminUsers: reader.list(OPTIONS.adminUser),
    roles: reader.list(OPTIONS.role),
    /** Whose identity headers count: our own reverse proxy's, or those of another proxy on this machine. */
    identity: readIdentity(reader),
    /** Requests from this machine need no login; `token`: but this header. */
    localBypass,
  } as const;
}

function readLocalBypass(reader: OptionReader): { readonly token: Secret | undefined } | undefined {
  const token = reader.secret(OPTIONS.localAuthToken);
  if (reader.isOn(OPTIONS.allowLocalBypass)) {
    if (token === undefined && !reader.isOn(OPTIONS.noAuth)) reader.warn(OPEN_TO_THIS_MACHINE);
    return { token };
  }
  const why = "for --allow-local-bypass alone: give that, too, or leave it out";
  reader.refuseGiven([OPTIONS.localAuthToken], why);
  return undefined;
}

const OPEN_TO_THIS_MACHINE =
  "--allow-local-bypass: every user and program of this machine is the server's own user; give --local-auth-token-file to ask them for a secret";

function readIdentity(reader: OptionReader): "own-proxy" | "local-proxy" | undefined {
  if (!reader.isOn(OPTIONS.enableProxyServe)) return undefined;
  if (!reader.isOn(OPTIONS.proxyExternal)) return "own-proxy";
  reader.warn(
    "--proxy-external: every user and program of this machine can set the identity headers and act as any user; use it where only that proxy runs",
  );
  return "local-proxy";
}

function refuseDifferent(reader: OptionReader, [first, second]: readonly Pair[]): void {
  const [one, other] = [first?.credentials, second?.credentials];
  if (first === undefined || second === undefined || one === undefined || other === undefined) return;
  const isSame =
    one.username === other.username && Buffer.compare(one.password.bytes(), other.password.bytes()) === 0;
  if (isSame) return;
  const names = [first, second].map(({ options }) => reader.sourcesOf(options).join(" and "));
  reader.refuse(
    `${names.join(" differ from ")}: an HQ has one user name and password, for its remotes and for people; leave one pair out`,
  );
}

type Pair = {
  readonly options: readonly [username: ValueOption<string | undefined>, password: SecretOption];
  /** If both are valid. */
  readonly credentials: Credentials | undefined;
};

export const BOTH_OR_NONE = "set both or none";

export function readPair(reader: OptionReader, options: Pair["options"]): Pair {
  const [username, password] = [reader.value(options[0]), reader.secret(options[1])];
  const isWhole = username !== undefined && password !== undefined;
  return { options, credentials: isWhole ? { username, password } : undefined };
}

/** Warns about given pairs that have no effect. */
export function warnOfUnused(reader: OptionReader, because: string, pairs: readonly Pair[]): void {
  const sources = reader.sourcesOf(pairs.flatMap(({ options }) => options));
  if (sources.length === 0) return;
  reader.warn(`${because}: ${sources.join(" and ")} ${sources.length > 1 ? "are" : "is"} not used`);
}
