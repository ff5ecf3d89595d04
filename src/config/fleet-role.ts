// What a server is among others (specification 5.5, contract 6).
import { isLoopbackName } from "../lib/address.ts";
import type { Credentials } from "../lib/credentials.ts";
import type { RedisAddress } from "../lib/redis-address.ts";
import type { AuthConfig } from "./login.ts";
import type { Option } from "./option.ts";
import { OPTIONS } from "./options.ts";
import { readPair, warnOfUnused } from "./pair.ts";
import type { OptionReader } from "./reader.ts";
import { readSharedRegistry } from "./shared-registry.ts";
import { remoteName } from "./value.ts";

export type FleetRole =
  | { readonly kind: "standalone" }
  | {
      readonly kind: "hq";
      /** Whether it has sessions of its own, as the remote `local`. */
      readonly hasSessions: boolean;
      /** What remotes prove themselves with; `undefined` with `--no-hq-auth` and `--no-auth`. */
      readonly credentials: Credentials | undefined;
      /** `undefined`: its registry is its own. */
      readonly sharedRegistry: RedisAddress | undefined;
    }
  | {
      readonly kind: "remote";
      readonly hq: {
        /** An origin. */
        readonly url: string;
        /** `undefined` with `--no-hq-auth`. */
        readonly credentials: Credentials | undefined;
      };
      readonly name: string;
      /** The origin that the HQ reaches it at; `undefined`: made of the address that it listens on. */
      readonly url: string | undefined;
    };

const OF_HQ: readonly Option[] = [
  OPTIONS.username,
  OPTIONS.password,
  OPTIONS.hqSessions,
  OPTIONS.registryUrl,
];
const OF_REMOTE: readonly Option[] = [
  OPTIONS.hqUsername,
  OPTIONS.hqPassword,
  OPTIONS.name,
  OPTIONS.remoteUrl,
  OPTIONS.allowInsecureHq,
];
const OF_BOTH: readonly Option[] = [OPTIONS.noHqAuth, OPTIONS.hqCa];

/** Which of them was asked for; a contradiction counts as both. */
export function fleetKinds(reader: OptionReader): { readonly isHq: boolean; readonly isRemote: boolean } {
  return { isHq: reader.isOn(OPTIONS.hq), isRemote: reader.sourceOf(OPTIONS.hqUrl) !== undefined };
}

export function readFleetRole(
  reader: OptionReader,
  { auth, hostname }: { readonly auth: AuthConfig; readonly hostname: string },
): FleetRole {
  const { isHq, isRemote } = fleetKinds(reader);
  if (isHq && isRemote) {
    reader.refuse(
      `--hq and ${reader.sourceOf(OPTIONS.hqUrl)} contradict each other: a server is an HQ or the remote of one`,
    );
  }
  if (!isHq) refuseAll(reader, OF_HQ, "for an HQ alone: give --hq, too, or leave it out");
  if (!isRemote) refuseAll(reader, OF_REMOTE, "for a remote alone: give --hq-url, too, or leave it out");
  if (!isHq && !isRemote) {
    refuseAll(reader, OF_BOTH, "for an HQ or a remote: give --hq or --hq-url, too, or leave it out");
  }
  const remote = readRemote(reader, hostname, isRemote);
  if (isHq) return readHq(reader, auth);
  return remote ?? { kind: "standalone" };
}

function readHq(reader: OptionReader, auth: AuthConfig): FleetRole {
  const hasSessions = reader.isOn(OPTIONS.hqSessions);
  const sharedRegistry = readSharedRegistry(reader);
  return { kind: "hq", hasSessions, sharedRegistry, credentials: readCredentials(reader, auth) };
}

function readCredentials(reader: OptionReader, auth: AuthConfig): Credentials | undefined {
  if (reader.isOn(OPTIONS.noHqAuth)) {
    reader.warn(
      "--no-hq-auth: everyone who reaches this HQ can join it with a machine of their own; for tests alone",
    );
    return undefined;
  }
  if (auth.mode === "none") return undefined;
  const { password: pair } = auth;
  const isGiven = PAIR_OF_HQ.some((option) => reader.sourceOf(option) !== undefined);
  if (!isGiven) {
    reader.refuse(
      "--hq needs credentials, which its remotes prove themselves with: give --username and --password-file, or TTYHQ_USERNAME and TTYHQ_PASSWORD; --no-hq-auth for none, in tests alone",
    );
  }
  return pair?.kind === "configured" ? { username: pair.username, password: pair.password } : undefined;
}

/** Whichever of them is given; half a pair has been refused. */
const PAIR_OF_HQ: readonly Option[] = [
  OPTIONS.username,
  OPTIONS.password,
  OPTIONS.serviceUsername,
  OPTIONS.servicePassword,
];

/** `undefined` where nothing says which HQ. */
function readRemote(reader: OptionReader, hostname: string, isRemote: boolean): FleetRole | undefined {
  const url = reader.value(OPTIONS.hqUrl);
  const ownUrl = reader.value(OPTIONS.remoteUrl);
  const name = readName(reader, hostname, isRemote);
  const credentials = readHqCredentials(reader, isRemote);
  checkEncryption(reader, url);
  return url === undefined ? undefined : { kind: "remote", hq: { url, credentials }, name, url: ownUrl };
}

/** Without one: the machine's, which need not be one that a remote can have. */
function readName(reader: OptionReader, hostname: string, isRemote: boolean): string {
  const name = reader.value(OPTIONS.name);
  if (!isRemote || reader.sourceOf(OPTIONS.name) !== undefined) return name ?? hostname;
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

function readHqCredentials(reader: OptionReader, isRemote: boolean): Credentials | undefined {
  const pair = readPair(reader, { username: OPTIONS.hqUsername, password: OPTIONS.hqPassword });
  if (!isRemote) return undefined;
  if (pair.problem !== undefined) reader.refuse(pair.problem);
  if (!reader.isOn(OPTIONS.noHqAuth)) {
    if (pair.sources.length === 0) reader.refuse(CREDENTIALS_MISSING);
    return pair.credentials;
  }
  reader.warn("--no-hq-auth: this remote proves itself to its HQ with nothing; for tests alone");
  warnOfUnused(reader, "--no-hq-auth", [pair]);
  return undefined;
}

const CREDENTIALS_MISSING =
  "--hq-url needs the credentials of that HQ: give --hq-username and --hq-password-file, or TTYHQ_HQ_USERNAME and TTYHQ_HQ_PASSWORD; --no-hq-auth for none, in tests alone";

/** Credentials and everything that is typed go over this connection (contract 6.9). */
function checkEncryption(reader: OptionReader, url: string | undefined): void {
  if (url === undefined || !url.startsWith("http:")) return;
  const source = reader.sourceOf(OPTIONS.hqUrl);
  if (!reader.isOn(OPTIONS.allowInsecureHq)) {
    reader.refuse(
      `${source}: ${url} is not encrypted: give the HQ a certificate and its address with https, or allow this with --allow-insecure-hq`,
    );
  } else if (!isLoopbackName(new URL(url).hostname.replace(/^\[|\]$/g, ""))) {
    reader.warn(
      `--allow-insecure-hq: the credentials of the HQ go to ${url} unencrypted, for everyone on the way to read; for development alone`,
    );
  }
}

function refuseAll(reader: OptionReader, options: readonly Option[], why: string): void {
  for (const option of options) {
    // A switch that is off asks for nothing.
    if (option.shape === "switch" && !reader.isOn(option)) continue;
    const source = reader.sourceOf(option);
    if (source !== undefined) reader.refuse(`${source} is ${why}`);
  }
}
