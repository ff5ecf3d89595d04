import { parseRedisAddress, type RedisAddress } from "../lib/net/redis-address.ts";
import { OPTIONS } from "./options/options.ts";
import type { OptionReader } from "./sources/reader.ts";

/** Where an HQ shares its registry with others; `undefined`: it has one of its own. What was given is never told. */
export function readSharedRegistry(reader: OptionReader): RedisAddress | undefined {
  const given = reader.secret(OPTIONS.registryUrl);
  if (given === undefined) return undefined;
  const source = reader.sourceOf(OPTIONS.registryUrl);
  const address = parseRedisAddress(new TextDecoder().decode(given.bytes()));
  if (address === undefined) {
    reader.refuse(
      `${source}: must be redis://[user:password@]host[:port][/database], or rediss:// for TLS, such as redis://redis.example.com:6379`,
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
