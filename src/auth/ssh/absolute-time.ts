/** Year, month, day; hours and minutes; seconds. Without the Z a local time. */
const TIME = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z|UTC)?$/i;
/** The last second is a leap second, of which clocks know two. */
const MAXIMA = [9999, 12, 31, 23, 59, 61];
const MINIMA = [1970, 1, 1, 0, 0, 0];

/**
 * The value of `expiry-time=` in authorized_keys, in seconds since 1970: `YYYYMMDD`, `YYYYMMDDHHMM` or
 * `YYYYMMDDHHMMSS`, with a Z after it or in the local time. A day that its month has not is one of the next month, as
 * sshd counts. In summer sshd takes a local time for one without daylight saving; here it is what the clock shows, so a
 * key ends up to an hour before sshd ends it. `undefined` for anything else, and for 1970-01-01T00:00:00Z and before.
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
