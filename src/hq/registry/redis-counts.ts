import { createHash } from "node:crypto";
import { z } from "zod";
import type { SharedCounts } from "../../lib/data/live-records.ts";
import { COUNT_CALLS, REGISTRY_KEYS } from "./redis-scripts.ts";
import type { RedisTables } from "./redis-tables.ts";

const Answer = z.tuple([z.number()], z.number());

/** The calls of a minute at all HQs of a group, in hashes of Redis. */
export function redisCounts({ tables }: { readonly tables: Pick<RedisTables, "run"> }): SharedCounts {
  return {
    add: async (kind, calls) => {
      const values = [...calls].flatMap(([caller, count]) => [hashOf(caller), `${count}`]);
      const answer = await tables.run(COUNT_CALLS, [`${REGISTRY_KEYS.calls}:${kind}`], values);
      const [leftMs, ...all] = Answer.parse(answer);
      return { leftMs, total: new Map([...calls.keys()].map((caller, index) => [caller, all[index] ?? 0])) };
    },
  };
}

function hashOf(caller: string): string {
  return createHash("sha256").update(caller).digest("base64url");
}
