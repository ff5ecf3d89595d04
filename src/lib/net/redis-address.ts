import { Secret } from "../secret.ts";

export type RedisAddress = {
  readonly isTls: boolean;
  /** IPv6 addresses without brackets. */
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly username: string | undefined;
  readonly password: Secret | undefined;
};

const DEFAULT_PORT = 6379;
const SCHEMES: ReadonlyMap<string, boolean> = new Map([
  ["redis:", false],
  ["rediss:", true],
]);

/** From `redis[s]://[[user]:password@]host[:port][/database]`; undefined for anything else. */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isTls = SCHEMES.get(url?.protocol ?? "");
  if (url === undefined || isTls === undefined || url.hostname === "") return undefined;
  const [, database] = /^\/?(\d{0,4})$/.exec(url.pathname) ?? [];
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (url.search !== "" || url.hash !== "" || database === undefined) return undefined;
  if (username === undefined || password === undefined) return undefined;
  return {
    isTls,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    database: Number(database),
    username: username === "" ? undefined : username,
    password: password === "" ? undefined : Secret.fromText(password),
  };
}

/** For messages: without credentials. */
export function formatRedisAddress({ isTls, host, port, database }: RedisAddress): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${isTls ? "rediss" : "redis"}://${name}:${port}${database === 0 ? "" : `/${database}`}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
