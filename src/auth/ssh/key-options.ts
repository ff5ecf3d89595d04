// The options before a key in authorized_keys, as sshd reads them.

export type KeyOptions = {
  /** sshd would accept the key, but for less than a terminal with any program. */
  readonly isLimited: boolean;
  /** The value of `from=`. */
  readonly from: string | undefined;
  /** The earliest `expiry-time=`, in seconds since 1970. */
  readonly expiresAtS: number | undefined;
};

/** `name` in lower case. */
type KeyOption = { readonly name: string; readonly value: string | undefined };

/** A later option may lift a limit (`restrict,pty`): that does not count here. */
const LIMITS: readonly string[] = ["restrict", "no-pty", "command"];
const ONCE: readonly string[] = ["command", "principals", "from"];
const OF_CERTIFICATES: readonly string[] = ["cert-authority", "principals"];
const VARIABLE = /^[A-Za-z0-9_]+=/;

/** A flag or `name="value"`, or nothing, up to a comma or to the end of the options. A comma never ends the line. */
const OPTION =
  /(?:((?:no-)?(?:(?:port|agent|x11)-forwarding|pty|user-rc|(?:touch|verify)-required)|restrict|cert-authority)|(command|principals|from|expiry-time|environment|permitopen|permitlisten|tunnel)="((?:\\"|[^"\\]|\\(?!"))*)")?(?:,(?!$)|(?=[ \t]|$))/iy;
/** Options, whether or not sshd knows them, and the space after them. */
const OPTIONS = /^(?:\\"|"(?:\\"|[^"\\]|\\(?!"))*"|[^" \t\\]|\\(?!"))*(?:[ \t]+|$)/;

/** The options at the start of a line; `undefined` if sshd rejects the line, or accepts only certificates by it. */
export function readKeyOptions(line: string): KeyOptions | undefined {
  const options = readOptions(line);
  if (options === undefined || !options.every(isValid)) return undefined;
  const names = options.map(({ name }) => name);
  if (ONCE.some((name) => names.indexOf(name) !== names.lastIndexOf(name))) return undefined;
  if (OF_CERTIFICATES.some((name) => names.includes(name))) return undefined;
  const times = options.flatMap(({ name, value = "" }) =>
    name === "expiry-time" ? (readAbsoluteTime(value) ?? []) : [],
  );
  return {
    isLimited: names.some((name) => LIMITS.includes(name)),
    from: options.find(({ name }) => name === "from")?.value,
    expiresAtS: times.length === 0 ? undefined : Math.min(...times),
  };
}

/** Comma-separated, up to the first space or tab outside quotes; `undefined` if sshd does not know one of them. */
export function readOptions(line: string): readonly KeyOption[] | undefined {
  const options: KeyOption[] = [];
  OPTION.lastIndex = 0;
  for (;;) {
    const [whole, flag, name, value] = OPTION.exec(line) ?? [];
    if (whole === undefined) return undefined;
    if (flag !== undefined) options.push({ name: flag.toLowerCase(), value: undefined });
    if (name !== undefined) options.push({ name: name.toLowerCase(), value: value?.replaceAll('\\"', '"') });
    if (!whole.endsWith(",")) return options;
  }
}

/** The rest of the line after the options, valid or not; `undefined` if a quote is never closed. */
export function afterOptions(line: string): string | undefined {
  const [options] = OPTIONS.exec(line) ?? [];
  return options === undefined ? undefined : line.slice(options.length);
}

function isValid({ name, value = "" }: KeyOption): boolean {
  switch (name) {
    case "expiry-time":
      return readAbsoluteTime(value) !== undefined;
    case "environment":
      return VARIABLE.test(value);
    case "permitopen":
      return isForwardingTarget(value);
    case "permitlisten":
      return isForwardingTarget(value.includes(":") ? value : `*:${value}`);
    case "tunnel":
      return value.toLowerCase() === "any" || isInteger(value, 0, MAX_TUNNEL);
    default:
      return true;
  }
}

const MAX_TUNNEL = 2_147_483_645;
const MAX_HOST_LENGTH = 1_024;
/** A host, in brackets or without a colon, and a port. */
const TARGET = /^(\[[^\]]*\]|[^:/[][^:/]*|):(.*)$/s;
/** A number as C's strtol reads it. */
const INTEGER = /^[\t-\r ]*([+-]?\d+)$/;

/** `host:port` or `[host]:port`, with `*` for any port. sshd also takes names of services as ports; they do not count here. */
function isForwardingTarget(text: string): boolean {
  const [, host = "", port = ""] = TARGET.exec(text) ?? [];
  return host.length <= MAX_HOST_LENGTH && (port === "*" || isInteger(port, 1, 65_535));
}

function isInteger(text: string, min: number, max: number): boolean {
  const value = Number(INTEGER.exec(text)?.[1] ?? Number.NaN);
  return value >= min && value <= max;
}

/** Date; hours and minutes; seconds. A local time without the Z. */
const TIME = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z|UTC)?$/i;
/** C allows two leap seconds. */
const MAXIMA = [9999, 12, 31, 23, 59, 61];
const MINIMA = [1970, 1, 1, 0, 0, 0];

/**
 * The value of `expiry-time=`, in seconds since 1970: `YYYYMMDD[HHMM[SS]][Z]`. Like sshd it moves a day that its month
 * does not have into the next month. In summer sshd reads a local time as one without daylight saving; here the key
 * expires when the clock shows the time, up to an hour earlier. `undefined` for anything else, and for times up to 1970-01-01T00:00:00Z.
 */
export function readAbsoluteTime(text: string): number | undefined {
  const fields = TIME.exec(text);
  if (fields === null) return undefined;
  const numbers = fields.slice(1, 7).map((digits = "0") => Number(digits));
  const isInRange = numbers.every((number, at) => number >= (MINIMA[at] ?? 0) && number <= (MAXIMA[at] ?? 0));
  const [year = 0, month = 0, ...rest] = numbers;
  const [day, hours, minutes, seconds] = rest;
  const isUtc = fields[7] !== undefined;
  const time = isUtc
    ? Date.UTC(year, month - 1, day, hours, minutes, seconds)
    : new Date(year, month - 1, day, hours, minutes, seconds).getTime();
  return isInRange && time > 0 ? time / 1000 : undefined;
}
