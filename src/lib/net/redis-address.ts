import { Secret } from "../secret.ts";
import { urlHost } from "./address.ts";

export type RedisHost = {
  /** IPv6 addresses without brackets. */
  readonly host: string;
  readonly port: number;
};

export type RedisLogin = { readonly username: string | undefined; readonly password: Secret | undefined };

export type RedisAddress = RedisLogin & {
  readonly isTls: boolean;
  /** Redis itself: one; or its Sentinels. */
  readonly hosts: readonly RedisHost[];
  readonly database: number;
  /** How the Sentinels call the Redis that they watch, and their own login. */
  readonly sentinel: (RedisLogin & { readonly master: string }) | undefined;
};

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
/** Scheme, credentials, hosts, name of the master, database, query. */
const SENTINEL_URL = /^(rediss?)\+sentinel:\/\/([^@/?#]*@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d{0,4}))?(\?.*)?$/;
const SENTINEL_QUERY = /^\?(?:sentinel-username=([^&#]*)&)?sentinel-password=([^&#]*)$/;

/**
 * From `redis[s]://[[user]:password@]host[:port][/database]`, or of Sentinels
 * `redis[s]+sentinel://[[user]:password@]host[:port][,host[:port]…]/master[/database][?[sentinel-username=…&]sentinel-password=…]`;
 * undefined for anything else.
 */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  const [isOfSentinels, scheme = "", login = "", hosts = "", name = "", database = "", query = ""] =
    SENTINEL_URL.exec(text) ?? [];
  if (isOfSentinels === undefined) return parsePlain(text, REDIS_PORT);
  const all = hosts.split(",").map((host) => parsePlain(`${scheme}://${login}${host}`, SENTINEL_PORT));
  const known = all.flatMap((address) => address?.hosts ?? []);
  const [, username = "", password = ""] = SENTINEL_QUERY.exec(query) ?? [];
  const own = loginOf(username, password);
  const master = decoded(name);
  const [first] = all;
  if (first === undefined || known.length < all.length || own === undefined || master === undefined) return;
  if (query !== "" && !SENTINEL_QUERY.test(query)) return undefined;
  return { ...first, hosts: known, database: Number(database), sentinel: { master, ...own } };
}

/** For messages: without credentials. */
export function formatRedisAddress({ isTls, hosts, database, sentinel }: RedisAddress): string {
  const names = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join();
  const scheme = `${isTls ? "rediss" : "redis"}${sentinel === undefined ? "" : "+sentinel"}`;
  const master = sentinel === undefined ? "" : `/${encodeURIComponent(sentinel.master)}`;
  return `${scheme}://${names}${master}${database === 0 ? "" : `/${database}`}`;
}

function parsePlain(text: string, defaultPort: number): RedisAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === "") return undefined;
  const [, database] = /^\/?(\d{0,4})$/.exec(url.pathname) ?? [];
  const login = loginOf(url.username, url.password);
  if (url.search !== "" || url.hash !== "" || database === undefined || login === undefined) return undefined;
  const host = urlHost(url);
  const port = url.port === "" ? defaultPort : Number(url.port);
  const isTls = url.protocol === "rediss:";
  return { isTls, hosts: [{ host, port }], database: Number(database), ...login, sentinel: undefined };
}

function loginOf(user: string, secret: string): RedisLogin | undefined {
  const [username, password] = [decoded(user), decoded(secret)];
  if (username === undefined || password === undefined) return undefined;
  return {
    username: username === "" ? undefined : username,
    password: password === "" ? undefined : Secret.fromText(password),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
