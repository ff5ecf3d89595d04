// Stores the join tokens and remote keys of several HQs in their shared registry.
import { z } from "zod";
import { ServiceError } from "../../protocol/errors.ts";
import type { RunScript, Script } from "../registry/redis-scripts.ts";
import type { JoiningChange, JoiningStore, JoiningTable } from "./joining-store.ts";

/** table; id → text or nil. */
const GET: Script = { name: "joining get", text: "return redis.call('HGET', KEYS[1], ARGV[1])" };
/** table → {id, text, …}. */
const ALL: Script = { name: "joining all", text: "return redis.call('HGETALL', KEYS[1])" };
/** tokens, keys; of each change the number of its table, id, text before and after, "" for none → 1 when it was done. */
const COMMIT: Script = {
  name: "joining commit",
  text: `
for i = 1, #ARGV, 4 do
  local now = redis.call('HGET', KEYS[tonumber(ARGV[i])], ARGV[i + 1]) or ''
  if now ~= ARGV[i + 2] then return 0 end
end
for i = 1, #ARGV, 4 do
  local hash = KEYS[tonumber(ARGV[i])]
  if ARGV[i + 3] == '' then redis.call('HDEL', hash, ARGV[i + 1])
  else redis.call('HSET', hash, ARGV[i + 1], ARGV[i + 3]) end
end
return 1
`,
};

/** Hash of a join token → its record; name of a remote → its key. */
const HASHES: Readonly<Record<JoiningTable, string>> = {
  tokens: "ttyhq:join-tokens",
  keys: "ttyhq:remote-keys",
};
const NUMBERS: Readonly<Record<JoiningTable, string>> = { tokens: "1", keys: "2" };

/** Rejects with `host_unreachable` while Redis is unreachable. */
export function redisJoiningStore(run: RunScript): JoiningStore {
  const ask: RunScript = async (...script) => {
    try {
      return await run(...script);
    } catch (cause) {
      throw new ServiceError("host_unreachable", "the registry of this HQ is out of reach", { cause });
    }
  };
  return {
    get: async (table, id) =>
      z
        .string()
        .nullable()
        .parse(await ask(GET, [HASHES[table]], [id])) ?? undefined,
    all: async (table) => {
      const flat = z.array(z.string()).parse(await ask(ALL, [HASHES[table]], []));
      return new Map(
        Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n] ?? "", flat[2 * n + 1] ?? ""]),
      );
    },
    commit: async (changes) => {
      const values = changes.flatMap(({ table, id, before = "", after = "" }: JoiningChange) => [
        ...[NUMBERS[table], id, before, after],
      ]);
      return (await ask(COMMIT, [HASHES.tokens, HASHES.keys], values)) === 1;
    },
  };
}
