// What a process may, as Linux shows it in /proc/PID/status and /proc/PID/limits (proc(5)).

/** A limit as setrlimit(2) knows it: a number, or "unlimited". */
export type Limit = { readonly soft: string; readonly hard: string };

/** By the names of prlimit(1). */
export type Limits = Readonly<Record<string, Limit>>;

const UNLIMITED: Limit = { soft: "unlimited", hard: "unlimited" };

/** The limits of native/run-as.c. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["Max cpu time", "cpu"],
  ["Max file size", "fsize"],
  ["Max data size", "data"],
  ["Max stack size", "stack"],
  ["Max core file size", "core"],
  ["Max resident set", "rss"],
  ["Max processes", "nproc"],
  ["Max open files", "nofile"],
  ["Max locked memory", "memlock"],
  ["Max address space", "as"],
  ["Max file locks", "locks"],
  ["Max pending signals", "sigpending"],
  ["Max msgqueue size", "msgqueue"],
  ["Max nice priority", "nice"],
  ["Max realtime priority", "rtprio"],
  ["Max realtime timeout", "rttime"],
]);

const LIMIT_LINE = /^(Max [a-z ]+?)\s+(unlimited|\d{1,20})\s+(unlimited|\d{1,20})(?:\s|$)/;

/** Parses limits; ignores unknown lines. */
export function parseLimits(text: string): Limits {
  return Object.fromEntries(
    text.split("\n").flatMap((line) => {
      const [, label = "", soft, hard] = LIMIT_LINE.exec(line) ?? [];
      const name = NAMES.get(label);
      return name === undefined || soft === undefined || hard === undefined ? [] : [[name, { soft, hard }]];
    }),
  );
}

/** The limit, or `most` where it allows more. */
export function atMost(most: number, { soft, hard }: Limit = UNLIMITED): Limit {
  const bounded = (text: string): string => (text === "unlimited" || Number(text) > most ? `${most}` : text);
  return { soft: bounded(soft), hard: bounded(hard) };
}

/** As native/run-as.c takes them. */
export function formatLimits(limits: Limits): string {
  return Object.entries(limits)
    .map(([name, { soft, hard }]) => `${name}=${soft}:${hard}`)
    .join(",");
}

/** `undefined` for an invalid text. */
export function parseGroups(text: string): readonly number[] | undefined {
  return /^Groups:\t([\d ]*)$/m
    .exec(text)?.[1]
    ?.split(" ")
    .filter((group) => group !== "")
    .map(Number);
}
