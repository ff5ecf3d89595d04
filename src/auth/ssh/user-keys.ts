import { withDeadline } from "../../lib/async/deadline.ts";
import type { Log } from "../../log.ts";
import { KEY_LOOKUP_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { KeyOwner } from "../accounts/methods.ts";
import type { Users } from "../users.ts";
import { judgeKey, type Verdict, type Visit } from "./authorized-keys.ts";
import type { PublicKey } from "./public-key.ts";

const LIMITED = "the key is for less than a terminal: see its options in authorized_keys";
const IGNORED = "keys of a user do not count";

type UserKeysParts = {
  readonly accounts: Pick<Accounts, "lookUp" | "keyFiles">;
  readonly users: Pick<Users, "isOwn">;
  /** HOME of the process. */
  readonly ownHome: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, "info">;
};

/** Whether the key logs the user in. Failures are logged and admit nobody. */
export type KeyCheck = (user: string, key: PublicKey, address: string | undefined) => Promise<boolean>;

/**
 * The keys that log a user in: those in `~/.ssh/authorized_keys` and `authorized_keys2`.
 *
 * The home comes from the system (passwd), as for sshd; the server's own user has HOME. The configured user is the server
 * itself under another name and has the same keys, never those of a system user who happens to have that name.
 *
 * Every other user needs a system account that may log in (see loginRefusal): sshd leaves it to a shell such as `nologin`
 * to refuse, but here programs start without it. A locked password does not matter, as for accounts that only have keys. A
 * server that does not run as root can read few files but its own, and only those count.
 */
export function userKeys(parts: UserKeysParts): KeyCheck {
  const { now, log } = parts;
  return async (user, key, address) => {
    try {
      const visit = { address, nowS: Math.floor(now() / 1000) };
      const judging = judge(user, key, visit, parts);
      const verdict = await withDeadline(judging, KEY_LOOKUP_TIMEOUT_MS, "looking a user's keys up");
      if (verdict === "limited") log.info({ user, reason: LIMITED }, IGNORED);
      return verdict === "admitted";
    } catch (error) {
      log.info({ error }, "could not look a user's keys up");
      return false;
    }
  };
}

/** The first file with a verdict decides. */
async function judge(user: string, key: PublicKey, visit: Visit, parts: UserKeysParts): Promise<Verdict> {
  const { accounts, log } = parts;
  const owner = await ownerOf(user, parts);
  for (const { content, refusal } of owner === undefined ? [] : await accounts.keyFiles(owner)) {
    if (content === undefined) log.info({ user, reason: refusal }, IGNORED);
    const verdict = content === undefined ? "absent" : judgeKey(Buffer.from(content, "base64"), key, visit);
    if (verdict !== "absent") return verdict;
  }
  return "absent";
}

async function ownerOf(
  user: string,
  { accounts, users, ownHome, log }: UserKeysParts,
): Promise<KeyOwner | undefined> {
  if (users.isOwn(user)) return { home: ownHome };
  const { account, refusal } = await accounts.lookUp(user);
  if (refusal === undefined) return account && { home: account.home, user: account };
  log.info({ user, reason: refusal }, IGNORED);
  return undefined;
}
