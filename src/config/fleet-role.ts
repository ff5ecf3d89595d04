// The server's role: standalone, HQ or remote (specification 5.5, contract 6).
import { isLoopbackName, urlHost } from "../lib/net/address.ts";
import { parseRedisAddress, type RedisAddress } from "../lib/net/redis-address.ts";
import type { Credentials, Secret } from "../lib/secret.ts";
import { BOTH_OR_NONE, type LoginConfig, readPair, warnOfUnused } from "./login.ts";
import { HQ_OPTIONS, REMOTE_OPTIONS } from "./options/fleet.ts";
import type { Option } from "./options/option.ts";
import { OPTIONS } from "./options/options.ts";
import { remoteName } from "./options/value.ts";
import type { OptionReader } from "./sources/reader.ts";

type FleetRole =
  | { readonly kind: "standalone" }
  | ReturnType<typeof readHq>
  | NonNullable<ReturnType<typeof readRemote>>;

const OF_HQ: readonly Option[] = [...Object.values(HQ_OPTIONS), OPTIONS.joinTokenName];
const OF_REMOTE: readonly Option[] = [...Object.values(REMOTE_OPTIONS), OPTIONS.allowInsecureHq];
const OF_BOTH: readonly Option[] = [OPTIONS.noHqAuth, OPTIONS.hqCa, OPTIONS.joinToken];

/** Contradictory options give both. */
export function fleetKinds(reader: OptionReader): { readonly isHq: boolean; readonly isRemote: boolean } {
  return { isHq: reader.isOn(OPTIONS.hq), isRemote: reader.sourceOf(OPTIONS.hqUrl) !== undefined };
}

export function readFleetRole(
  reader: OptionReader,
  { auth, hostname }: { readonly auth: LoginConfig; readonly hostname: string },
): FleetRole {
  const { isHq, isRemote } = fleetKinds(reader);
  if (isHq && isRemote) {
    reader.refuse(
      `--hq and ${reader.sourceOf(OPTIONS.hqUrl)} contradict each other: a server is an HQ or the remote of one`,
    );
  }
  if (!isHq) reader.refuseGiven(OF_HQ, "for an HQ alone: give --hq, too, or leave it out");
  if (!isRemote) reader.refuseGiven(OF_REMOTE, "for a remote alone: give --hq-url, too, or leave it out");
  if (!isHq && !isRemote) {
    reader.refuseGiven(OF_BOTH, "for an HQ or a remote: give --hq or --hq-url, too, or leave it out");
  }
  const remote = isRemote ? readRemote(reader, hostname) : undefined;
  if (isHq) return readHq(reader, auth);
  return remote ?? { kind: "standalone" };
}

function readHq(reader: OptionReader, auth: LoginConfig) {
  return {
    kind: "hq",
    /** Whether the HQ has its own sessions, as the remote `local`. */
    hasSessions: reader.isOn(OPTIONS.hqSessions),
    /** `undefined`: the HQ has its own registry. */
    sharedRegistry: readSharedRegistry(reader),
    /** The pair for Basic; `undefined` with `--no-hq-auth` and `--no-auth`, and without a configured pair. */
    credentials: readCredentials(reader, auth),
    joining: readJoining(reader, auth),
  } as const;
}

function readJoining(reader: OptionReader, auth: LoginConfig) {
  const secret = reader.secret(OPTIONS.joinToken);
  const name = reader.value(OPTIONS.joinTokenName);
  const tokenSource = reader.sourceOf(OPTIONS.joinToken);
  if (tokenSource === undefined) {
    const why = "for the token of --join-token-file: give that, too, or leave it out";
    reader.refuseGiven([OPTIONS.joinTokenName], why);
  } else if (reader.sourceOf(OPTIONS.joinTokenName) === undefined) {
    reader.refuse(
      `${tokenSource} needs --join-token-name: say which names remotes may join under with it, such as 'build-*'`,
    );
  }
  return {
    /** Without proof: `--no-hq-auth`. */
    isOpen: auth.mode !== "none" && reader.isOn(OPTIONS.noHqAuth),
    /** With the HQ's pair: unless `--no-basic-join`. */
    isBasicTaken: !reader.isOn(OPTIONS.noBasicJoin),
    /** With this token, for names that match `name`. */
    token: secret === undefined || name === undefined ? undefined : { secret, name },
  } as const;
}

function readCredentials(reader: OptionReader, auth: LoginConfig): Credentials | undefined {
  if (reader.isOn(OPTIONS.noHqAuth)) {
    reader.warn(
      "--no-hq-auth: everyone who reaches this HQ can join it with a machine of their own; for tests alone",
    );
    return undefined;
  }
  if (auth.mode === "none") return undefined;
  const { password: pair } = auth;
  const isGiven = reader.sourcesOf(PAIR_OF_HQ).length > 0;
  if (!isGiven && !reader.isOn(OPTIONS.noBasicJoin)) {
    reader.refuse(
      "--hq needs credentials, which its remotes prove themselves with: give --username and --password-file, or TTYHQ_USERNAME and TTYHQ_PASSWORD; --no-basic-join where remotes join with tokens alone; --no-hq-auth for none, in tests alone",
    );
  }
  if (isGiven && pair === undefined) {
    reader.warn(
      "--disallow-user-password: the HQ's user name and password are not used, so that remotes join with tokens alone",
    );
  }
  return pair?.kind === "configured" ? { username: pair.username, password: pair.password } : undefined;
}

/** Half a pair has been refused already. */
const PAIR_OF_HQ: readonly Option[] = [
  OPTIONS.username,
  OPTIONS.password,
  OPTIONS.serviceUsername,
  OPTIONS.servicePassword,
];

/** `undefined` if the address of the HQ is invalid. */
function readRemote(reader: OptionReader, hostname: string) {
  const url = reader.value(OPTIONS.hqUrl);
  const ownUrl = reader.value(OPTIONS.remoteUrl);
  const name = readName(reader, hostname);
  const proof = readProof(reader);
  const dials = reader.isOn(OPTIONS.hqDial);
  checkEncryption(reader, url);
  if (dials) {
    const why =
      "for an HQ that connects to the remote, which --hq-dial does in its place: leave one of them out";
    reader.refuseGiven([OPTIONS.remoteUrl], why);
  }
  const labels = reader.list(OPTIONS.machineLabel);
  if (url === undefined) return undefined;
  return {
    kind: "remote",
    /** `url`: an origin. */
    hq: { url, ...proof },
    name,
    /** The HQ reaches the remote through a tunnel that the remote opens: `--hq-dial`. */
    dials,
    /** The remote's origin for its HQ; `undefined`: derived from the listening address. */
    url: ownUrl,
    labels: labels.length === 0 ? undefined : Object.fromEntries(labels),
  } as const;
}

/** By default the host name, if it is a valid remote name. */
function readName(reader: OptionReader, hostname: string): string {
  if (reader.sourceOf(OPTIONS.name) !== undefined) return reader.value(OPTIONS.name) ?? hostname;
  reader.imply(OPTIONS.name, { text: hostname, because: "the name of this machine" });
  try {
    return remoteName(hostname);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    reader.refuse(
      `the name of this machine, ${JSON.stringify(hostname)}, cannot be that of a remote, which ${error.message}: give one with --name`,
    );
    return hostname;
  }
}

type Proof = {
  /** For Basic; `undefined` with a key or `--no-hq-auth`. */
  readonly credentials: Credentials | undefined;
  /** The remote's own key. `joinToken` enrolls it once. */
  readonly key: { readonly joinToken: Secret | undefined } | undefined;
};

/** The pair if given, otherwise a key; whether there is one already is not known here. */
function readProof(reader: OptionReader): Proof {
  const pair = readPair(reader, [OPTIONS.hqUsername, OPTIONS.hqPassword]);
  reader.refuseIncomplete(pair.options, BOTH_OR_NONE);
  const joinToken = reader.secret(OPTIONS.joinToken);
  const tokenSource = reader.sourceOf(OPTIONS.joinToken);
  if (reader.isOn(OPTIONS.noHqAuth)) {
    reader.warn("--no-hq-auth: this remote proves itself to its HQ with nothing; for tests alone");
    warnOfUnused(reader, "--no-hq-auth", [pair]);
    return { credentials: undefined, key: undefined };
  }
  const pairSources = reader.sourcesOf(pair.options);
  if (pairSources.length === 0) return { credentials: undefined, key: { joinToken } };
  if (tokenSource !== undefined) {
    reader.refuse(
      `${pairSources.join(" and ")} and ${tokenSource} are both set: a remote with a join token needs no password of its HQ, leave the pair out`,
    );
  }
  return { credentials: pair.credentials, key: undefined };
}

/** For a remote without pair, token and key. */
export const PROOF_MISSING =
  "--hq-url needs a proof for that HQ: give --join-token-file, or TTYHQ_JOIN_TOKEN, with a token of `ttyhq join-token create`; or its --hq-username and --hq-password-file; --no-hq-auth for none, in tests alone";

/** Credentials and input go over this connection (contract 6.9). */
function checkEncryption(reader: OptionReader, url: string | undefined): void {
  if (url === undefined || !url.startsWith("http:")) return;
  const source = reader.sourceOf(OPTIONS.hqUrl);
  if (!reader.isOn(OPTIONS.allowInsecureHq)) {
    reader.refuse(
      `${source}: ${url} is not encrypted: give the HQ a certificate and its address with https, or allow this with --allow-insecure-hq`,
    );
  } else if (!isLoopbackName(urlHost(new URL(url)))) {
    reader.warn(
      `--allow-insecure-hq: the credentials of the HQ go to ${url} unencrypted, so that every network on the way can read them; for development only`,
    );
  }
}

/** The Redis of a shared registry; `undefined`: the HQ has its own. Messages do not quote the URL. */
function readSharedRegistry(reader: OptionReader): RedisAddress | undefined {
  const given = reader.secret(OPTIONS.registryUrl);
  if (given === undefined) return undefined;
  const source = reader.sourceOf(OPTIONS.registryUrl);
  const address = parseRedisAddress(new TextDecoder().decode(given.bytes()));
  if (address === undefined) {
    reader.refuse(
      `${source}: must be redis://[user:password@]host[:port][/database], or redis+sentinel://[user:password@]host[:port],…/master[/database], with rediss for TLS, such as redis://redis.example.com:6379`,
    );
  }
  if (reader.sourceOf(OPTIONS.jwtSecret) === undefined) {
    reader.refuse(
      `${source} needs a secret that every HQ of this registry has: give each the same --jwt-secret-file, or TTYHQ_JWT_SECRET`,
    );
  }
  if (reader.isOn(OPTIONS.hqSessions)) {
    reader.warn("--hq-sessions: the HQs that share the registry with this one do not see its own sessions");
  }
  return address;
}
