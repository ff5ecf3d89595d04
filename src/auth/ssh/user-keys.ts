import { withDeadline } from "../../lib/async/deadline.ts";
import type { Log } from "../../log.ts";
import { KEY_LOOKUP_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { Accounts, KeyOwner } from "../accounts/accounts.ts";
import { judgeKey, type Verdict, type Visit } from "./authorized-keys.ts";
import type { PublicKey } from "./public-key.ts";

const LIMITED = "the key is for less than a terminal: see its options in authorized_keys";

type UserKeysParts = {
  readonly accounts: Pick<Accounts, "lookUp" | "keyFiles">;
  /** Users who are the server's own: its system user, and the one with the configured password. */
  readonly ownNames: readonly string[];
  /** The home of the server's own user: HOME of the process. */
  readonly ownHome: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, "info">;
};

/**
 * Which keys log a user in: those in `~/.ssh/authorized_keys` and `authorized_keys2`.
 *
 * A home is what the system says it is (passwd), as for sshd. That of the server's own user is HOME, as for all else that
 * the server keeps and starts there; whoever sets HOME of the process is that user. The user with the configured
 * password is the server's own under another name, and has these keys too: never those of a system user who happens to
 * be called the same, who would get everything that is the server's.
 *
 * Every other user needs an account of the system that may log in (see loginRefusal): sshd leaves a shell such as
 * `nologin` to say no itself, and starts it whatever is asked for; here programs are started without it. A locked
 * password keeps nobody out, because that is how accounts are made that log in by key alone. A server that does not run
 * as root can read few files but its own, and only those count.
 */
export class UserKeys {
  readonly #parts: UserKeysParts;

  constructor(parts: UserKeysParts) {
    this.#parts = parts;
  }

  /** Whether that user may log in with that key, from that address. Whatever cannot be read is logged, and admits nobody. */
  async admit(user: string, key: PublicKey, address: string | undefined): Promise<boolean> {
    const { now, log } = this.#parts;
    try {
      const visit = { address, nowS: Math.floor(now() / 1000) };
      const lookUp = this.#lookUp(user, key, visit);
      const verdict = await withDeadline(lookUp, KEY_LOOKUP_TIMEOUT_MS, "looking a user's keys up");
      if (verdict === "limited") log.info({ user, reason: LIMITED }, "keys of a user do not count");
      return verdict === "admitted";
    } catch (error) {
      log.info({ error }, "could not look a user's keys up");
      return false;
    }
  }

  /** The first file that says something decides. */
  async #lookUp(user: string, key: PublicKey, visit: Visit): Promise<Verdict> {
    const { accounts, log } = this.#parts;
    const owner = await this.#ownerOf(user);
    if (owner === undefined) return "absent";
    for (const { bytes, refusal } of await accounts.keyFiles(owner)) {
      if (bytes === undefined) log.info({ user, reason: refusal }, "keys of a user do not count");
      const verdict = bytes === undefined ? "absent" : judgeKey(bytes, key, visit);
      if (verdict !== "absent") return verdict;
    }
    return "absent";
  }

  async #ownerOf(user: string): Promise<KeyOwner | undefined> {
    const { accounts, ownNames, ownHome, log } = this.#parts;
    if (ownNames.includes(user)) {
      return { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0, home: ownHome };
    }
    const { account, refusal } = await accounts.lookUp(user);
    if (refusal === undefined) return account;
    log.info({ user, reason: refusal }, "keys of a user do not count");
    return undefined;
  }
}
