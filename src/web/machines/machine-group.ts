import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { Machine } from "./machine-list.ts";

export type MachineGroup = { readonly machine: Machine; readonly sessions: readonly SessionRecord[] };

/**
 * The sessions under their machines, in the order of both. A machine that left has those that it had; one that is only
 * known by its sessions, because the list of machines is still on its way, is left out until it is there.
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
