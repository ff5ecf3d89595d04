import { join } from "node:path";
import { withDeadline } from "../../lib/deadline.ts";
import { findSystemAccount, loginRefusal } from "../../lib/system-account.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { KEY_LOOKUP_TIMEOUT_MS } from "../../protocol/limits.ts";
import { judgeKey, type Verdict, type Visit } from "./authorized-keys.ts";
import { type FileOwner, readKeyFile } from "./key-file.ts";
import type { PublicKey } from "./public-key.ts";

/** Below a home; `AuthorizedKeysFile` of an sshd that nobody configured. */
const FILES = [".ssh/authorized_keys", ".ssh/authorized_keys2"];

const LIMITED = "the key is for less than a terminal: see its options in authorized_keys";

type UserKeysParts = {
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
    const owner = await this.#ownerOf(user);
    if (owner === undefined) return "absent";
    for (const name of FILES) {
      const file = await this.#read(user, join(owner.home, name), owner);
      const verdict = file === undefined ? "absent" : judgeKey(file, key, visit);
      if (verdict !== "absent") return verdict;
    }
    return "absent";
  }

  async #ownerOf(user: string): Promise<FileOwner | undefined> {
    const { ownNames, ownHome, log } = this.#parts;
    if (ownNames.includes(user)) {
      return { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0, home: ownHome };
    }
    const account = await findSystemAccount(user);
    const reason = account && (await loginRefusal(account));
    if (reason === undefined) return account;
    log.info({ user, reason }, "keys of a user do not count");
    return undefined;
  }

  async #read(user: string, path: string, owner: FileOwner): Promise<Uint8Array | undefined> {
    try {
      return await readKeyFile(path, owner);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#parts.log.info({ user, reason: error.message }, "keys of a user do not count");
      return undefined;
    }
  }
}
