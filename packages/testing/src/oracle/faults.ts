export const FAULT_KINDS = ["lost", "doubled", "disordered", "damaged"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** A fault of a stream. */
export type OracleFault = {
  readonly kind: FaultKind;
  /** The offset where it was noticed. */
  readonly offset: number;
  /** The affected records; for damage, the expected record. */
  readonly first: number;
  readonly last: number;
  readonly message: string;
};

type Noted = Omit<OracleFault, "message" | "last"> & { last: number; readonly detail: string };

/** Faults that are listed individually. */
const MAX_FAULTS = 20;

const SAID = { lost: "did not come", doubled: "came again", disordered: "came after a later one" } as const;

/** Counts faults and holds the first 20, merging consecutive records. */
export class OracleFaults {
  readonly #counts: Record<FaultKind, number> = { lost: 0, doubled: 0, disordered: 0, damaged: 0 };
  readonly #noted: Noted[] = [];

  get total(): number {
    return FAULT_KINDS.reduce((sum, kind) => sum + this.#counts[kind], 0);
  }

  count(kind: FaultKind): number {
    return this.#counts[kind];
  }

  /** `detail` describes damage. */
  note(kind: FaultKind, offset: number, first: number, last = first, detail = ""): void {
    this.#counts[kind] += last - first + 1;
    const before = this.#noted.at(-1);
    if (before?.kind === kind && before.last + 1 === first && kind !== "damaged") before.last = last;
    else if (this.#noted.length < MAX_FAULTS) this.#noted.push({ kind, offset, first, last, detail });
  }

  /** In the order of detection. */
  get all(): readonly OracleFault[] {
    return this.#noted.map(({ detail, ...fault }) => ({ ...fault, message: messageOf(fault, detail) }));
  }
}

function messageOf({ kind, first, last }: Omit<OracleFault, "message">, detail: string): string {
  if (kind === "damaged") return `${detail}, where record ${first} was due`;
  return `${first === last ? `record ${first}` : `records ${first} to ${last}`} ${SAID[kind]}`;
}
