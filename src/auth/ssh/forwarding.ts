// Values of `permitopen=`, `permitlisten=` and `tunnel=` in authorized_keys: nothing is forwarded here, but a line with one
// that sshd does not take is no line.

const MAX_HOST_LENGTH = 1_024;
const MAX_PORT = 65_535;
const MAX_TUNNEL = 2_147_483_645;
/** How C reads a number from a text. */
const INTEGER = /^[\t-\r ]*([+-]?\d+)$/;
/** A host, in brackets or without a colon, and a port. */
const TARGET = /^(\[[^\]]*\]|[^:/[][^:/]*|):(.*)$/s;

/**
 * Whether a text is `host:port`, `[host]:port`, with `*` for any port; a port alone where that is allowed. Ports are
 * numbers here: sshd also knows the names of services.
 */
export function isForwardingTarget(text: string, isPortEnough: boolean): boolean {
  const whole = isPortEnough && !text.includes(":") ? `*:${text}` : text;
  const [, host = "", port = ""] = TARGET.exec(whole) ?? [];
  return host.length <= MAX_HOST_LENGTH && (port === "*" || integer(port, 1, MAX_PORT));
}

/** A number of a tunnel device, or any. */
export function isTunnel(text: string): boolean {
  return text.toLowerCase() === "any" || integer(text, 0, MAX_TUNNEL);
}

function integer(text: string, min: number, max: number): boolean {
  const value = Number(INTEGER.exec(text)?.[1] ?? Number.NaN);
  return value >= min && value <= max;
}
