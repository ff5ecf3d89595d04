// Environment variables for test runs.

import { randomInt } from "node:crypto";

const IMAGE = "ttyhq:dev";
const MAX_SEED = 2 ** 32 - 1;

export type ClusterKind = "containers" | "processes";

/** TTYHQ_TEST_CLUSTER: the kind of clusters; undefined if the machine decides. Throws for other values. */
export function clusterKind(): ClusterKind | undefined {
  const kind = process.env.TTYHQ_TEST_CLUSTER || undefined;
  if (kind === undefined || kind === "containers" || kind === "processes") return kind;
  throw new Error(`TTYHQ_TEST_CLUSTER is ${kind}: give containers or processes, or leave it out`);
}

/** The command that runs servers as processes: TTYHQ_COMMAND, or ttyhq on the PATH. */
export function serverCommand(): string {
  return process.env.TTYHQ_COMMAND || "ttyhq";
}

/** TTYHQ_TEST_SEED repeats the choices of an earlier run. */
export function testSeed(): number {
  const given = process.env.TTYHQ_TEST_SEED || undefined;
  const seed = given === undefined ? randomInt(MAX_SEED) : Number(given);
  if (Number.isInteger(seed) && seed >= 0 && seed <= MAX_SEED) return seed;
  throw new Error(`TTYHQ_TEST_SEED is ${given}: give a whole number from 0 to ${MAX_SEED}`);
}

/** The folder for reports of failures: TTYHQ_REPORT_DIR, or ttyhq-failures in the current directory. */
export function reportDirectory(): string {
  return process.env.TTYHQ_REPORT_DIR || "ttyhq-failures";
}

/** The image of containers: TTYHQ_IMAGE, or the one that docker/build.sh builds. */
export function imageName(): string {
  return process.env.TTYHQ_IMAGE || IMAGE;
}
