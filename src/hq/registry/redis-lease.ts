import { z } from "zod";
import { PROBE_LEASE_MS, PROBE_LEASE_PASSED_MS, REPLICA_LIFETIME_MS } from "../../protocol/limits.ts";
import type { Lease, LeaseState } from "../health/health-check.ts";
import { LEAVE, PASS, REGISTRY_KEYS, type RunScript, TAKE } from "./redis-scripts.ts";

const KEYS = [REGISTRY_KEYS.lease, REGISTRY_KEYS.replicas];
const Taken = z.enum(["own", "passed", "other"]);

/** Held in Redis for PROBE_LEASE_MS: an HQ that dies, or cannot reach Redis, has it no more after that. */
export class RedisLease implements Lease {
  readonly #replicaId: string;
  readonly #run: RunScript;

  /** `replicaId`: one HQ among those that share the registry. */
  constructor({ replicaId, run }: { readonly replicaId: string; readonly run: RunScript }) {
    this.#replicaId = replicaId;
    this.#run = run;
  }

  async take(): Promise<LeaseState> {
    const values = [this.#replicaId, `${PROBE_LEASE_MS}`, `${REPLICA_LIFETIME_MS / 1000}`];
    return Taken.parse(await this.#run(TAKE, KEYS, values).catch(() => "other"));
  }

  async pass(): Promise<boolean> {
    const values = [this.#replicaId, `${PROBE_LEASE_PASSED_MS}`];
    return (await this.#run(PASS, KEYS, values).catch(() => 0)) === 1;
  }

  /** When this HQ stops: another one need not wait. Never rejects. */
  async leave(): Promise<void> {
    await this.#run(LEAVE, KEYS, [this.#replicaId]).catch(() => undefined);
  }
}
