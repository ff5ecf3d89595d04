/** The order counts, because browsers name other browsers beside themselves. */
const BROWSERS = [
  ["Edge", /\bEdg(?:A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Chrome", /(?:Chrome|CriOS)\//],
  ["Safari", /\bSafari\//],
] as const;

const SYSTEMS = [
  ["Android", /\bAndroid\b/],
  ["iOS", /\b(?:iPhone|iPad)\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/],
] as const;

/** A readable User-Agent, such as "Firefox on Linux"; for a program its name. */
export function clientWords(client: string | undefined): string {
  if (client === undefined || client === "") return "Unknown program";
  const nameOf = (all: readonly (readonly [string, RegExp])[]): string | undefined =>
    all.find(([, pattern]) => pattern.test(client))?.[0];
  const browser = nameOf(BROWSERS);
  const system = nameOf(SYSTEMS);
  if (browser === undefined) return client.split(/[/\s]/, 1)[0] || client;
  return system === undefined ? browser : `${browser} on ${system}`;
}
