import { readAbsoluteTime } from "./absolute-time.ts";
import { isForwardingTarget, isTunnel } from "./forwarding.ts";
import { type KeyOption, readOptions } from "./option-reader.ts";

/** What the options before a key in authorized_keys say about who logs in with it. */
export type KeyOptions = {
  /** It signs certificates, and logs nobody in. */
  readonly isAuthority: boolean;
  /** Of certificates: with a key that is no authority sshd lets nobody in. */
  readonly hasPrincipals: boolean;
  /** sshd would let in, but to less than a terminal with any program in it, which is what one gets here. */
  readonly isLimited: boolean;
  /** The value of `from=`. */
  readonly from: string | undefined;
  /** The earliest `expiry-time=`, in seconds since 1970. */
  readonly expiresAtS: number | undefined;
};

/** An option may be negated again, `restrict,pty` for example: that does not count, because it is not meant for us. */
const LIMITS: readonly string[] = ["restrict", "no-pty", "command"];
const ONCE: readonly string[] = ["command", "principals", "from"];
const VARIABLE = /^[A-Za-z0-9_]+=/;

/** The options at the beginning of a line. `undefined` where sshd takes the line for a broken one. */
export function readKeyOptions(line: string): KeyOptions | undefined {
  const options = readOptions(line);
  if (options === undefined || !options.every(isGood)) return undefined;
  const names = options.map(({ name }) => name);
  if (ONCE.some((name) => names.indexOf(name) !== names.lastIndexOf(name))) return undefined;
  const times = options.flatMap(({ name, value = "" }) =>
    name === "expiry-time" ? (readAbsoluteTime(value) ?? []) : [],
  );
  return {
    isAuthority: names.includes("cert-authority"),
    hasPrincipals: names.includes("principals"),
    isLimited: names.some((name) => LIMITS.includes(name)),
    from: options.find(({ name }) => name === "from")?.value,
    expiresAtS: times.length === 0 ? undefined : times.reduce((one, other) => Math.min(one, other)),
  };
}

function isGood({ name, value = "" }: KeyOption): boolean {
  switch (name) {
    case "expiry-time":
      return readAbsoluteTime(value) !== undefined;
    case "environment":
      return VARIABLE.test(value);
    case "permitopen":
      return isForwardingTarget(value, false);
    case "permitlisten":
      return isForwardingTarget(value, true);
    case "tunnel":
      return isTunnel(value);
    default:
      return true;
  }
}
