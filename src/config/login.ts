import { isLoopbackName } from "../lib/address.ts";
import type { Secret } from "../lib/secret.ts";
import { OPTIONS } from "./options.ts";
import { type Pair, readPair, warnOfUnused } from "./pair.ts";
import type { OptionReader } from "./reader.ts";

/** How people log in. With "login", at least one of `password` and `loginLink` is there, but on a remote. */
export type AuthConfig =
  | { readonly mode: "none" }
  | {
      readonly mode: "login";
      readonly password: ConfiguredPassword | undefined;
      /** A one-time login link is made and printed at the start. */
      readonly loginLink: boolean;
      readonly allowUsers: readonly string[];
    };

/** SERVICE_USERNAME and SERVICE_PASSWORD, or `--username` and `--password` of an HQ: one pair, however it is given. */
export type ConfiguredPassword = {
  readonly kind: "configured";
  readonly username: string;
  readonly password: Secret;
};

/** How people log in. `isLoginNeeded`: false where there is another way in, or another problem. */
export function readLogin(
  reader: OptionReader,
  context: { readonly host: string; readonly isHq: boolean; readonly isLoginNeeded: boolean },
): AuthConfig {
  const service = readPair(reader, { username: OPTIONS.serviceUsername, password: OPTIONS.servicePassword });
  const hq = readPair(reader, { username: OPTIONS.username, password: OPTIONS.password });
  // Without --hq these two are refused as such, and there is nothing to say about them here.
  const pairs = context.isHq ? [hq, service] : [service];
  const loginLink = reader.isOn(OPTIONS.loginLink);
  const allowUsers = reader.list(OPTIONS.allowUser);
  if (reader.isOn(OPTIONS.noAuth)) {
    warnWithoutLogin(reader, context.host, pairs);
    return { mode: "none" };
  }
  for (const { problem } of pairs) if (problem !== undefined) reader.refuse(problem);
  refuseDifferent(reader, pairs);
  const isNobodyKnown = pairs.every(({ sources }) => sources.length === 0);
  if (isNobodyKnown && !loginLink && context.isLoginNeeded) reader.refuse(NOBODY_COULD_LOG_IN);
  const credentials = pairs.map((pair) => pair.credentials).find((each) => each !== undefined);
  const password = credentials && ({ kind: "configured", ...credentials } as const);
  return { mode: "login", password, loginLink, allowUsers };
}

const NOBODY_COULD_LOG_IN =
  "nobody could log in: set SERVICE_USERNAME and SERVICE_PASSWORD, or give --login-link for a link that logs in once, or --no-auth for no login at all";

function refuseDifferent(reader: OptionReader, [first, second]: readonly Pair[]): void {
  const [one, other] = [first?.credentials, second?.credentials];
  if (first === undefined || second === undefined || one === undefined || other === undefined) return;
  const isSame =
    one.username === other.username && Buffer.compare(one.password.bytes(), other.password.bytes()) === 0;
  if (isSame) return;
  const names = [first, second].map(({ sources }) => sources.join(" and "));
  reader.refuse(
    `${names.join(" differ from ")}: an HQ has one user name and password, for its remotes and for people; leave one pair out`,
  );
}

function warnWithoutLogin(reader: OptionReader, host: string, pairs: readonly Pair[]): void {
  if (!isLoopbackName(host)) {
    reader.warn(
      `--no-auth on ${host}: everyone who reaches this address runs programs as the server's user; give --bind 127.0.0.1 to keep other machines out`,
    );
  }
  warnOfUnused(reader, "--no-auth", pairs);
}
