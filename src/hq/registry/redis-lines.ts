import { z } from "zod";
import type { SharedLine, SharedLines } from "../../lib/data/live-records.ts";
import type { Seal } from "../../lib/seal.ts";
import { MAX_SHARED_AUDIT_LINES } from "../../protocol/limits.ts";
import { pairsOf } from "./redis-link.ts";
import { APPEND_LINES, LINES_BEFORE, REGISTRY_KEYS } from "./redis-scripts.ts";
import type { RedisTables } from "./redis-tables.ts";

const SEAL = "audit line";
const KEYS = [REGISTRY_KEYS.audit];
const Line = z.object({ from: z.string(), text: z.string() });

/** The audit lines of a group of HQs in a stream of Redis, sealed with their common secret. */
export function redisAuditLines({
  tables,
  seal,
}: {
  readonly tables: Pick<RedisTables, "run">;
  readonly seal: Seal;
}): SharedLines {
  const opened = (id: string, sealed: string): SharedLine | undefined => {
    const line = seal.open(SEAL, sealed);
    return line === undefined ? undefined : { id, ...Line.parse(JSON.parse(line)) };
  };
  return {
    append: async (from, lines) => {
      const sealed = lines.map((text) => seal.seal(SEAL, JSON.stringify({ from, text })));
      await tables.run(APPEND_LINES, KEYS, [`${MAX_SHARED_AUDIT_LINES}`, ...sealed]);
    },
    before: async (id = "+", count) => {
      const found = z.array(z.string()).parse(await tables.run(LINES_BEFORE, KEYS, [id, `${count}`]));
      return pairsOf(found).flatMap(([at, sealed]) => opened(at, sealed) ?? []);
    },
  };
}
