import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { Machine } from "./machine-list.ts";

export type MachineGroup = { readonly machine: Machine; readonly sessions: readonly SessionRecord[] };

/**
 * The sessions under their machines, in the order of both. A machine that left keeps its sessions. A machine that is
 * missing in the still loading list of machines is left out until it appears.
 */
export function groupByMachine(
  machines: readonly Machine[],
  sessions: readonly SessionRecord[],
  remembered: readonly SessionRecord[],
): readonly MachineGroup[] {
  return machines.map((machine) => {
    const known = machine.isHere ? sessions : [...sessions, ...remembered];
    return { machine, sessions: known.filter(({ source = LOCAL }) => source === machine.name) };
  });
}
