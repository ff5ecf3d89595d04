import type { VNode } from "preact";
import type { Preferences } from "../preferences.ts";
import type { Machine } from "./machine-list.ts";

type MachineFieldProps = { readonly machines: readonly Machine[]; readonly preferences: Preferences };

/** Where the session runs: the only machine, else the one that was chosen last. `value`s are the ids of machines. */
export function MachineField({ machines, preferences }: MachineFieldProps): VNode {
  const last = preferences.current.value.machine;
  const chosen = machines.length === 1 ? machines[0] : machines.find(({ name }) => name === last);
  return (
    <label class="field">
      <span>Machine</span>
      <select
        name="machine"
        required
        value={chosen?.id ?? ""}
        onChange={({ currentTarget }) => {
          const machine = machines.find(({ id }) => id === currentTarget.value);
          if (machine !== undefined) preferences.setMachine(machine.name);
        }}
      >
        <option value="" disabled hidden>
          Choose a machine
        </option>
        {machines.map(({ id, name, url }) => (
          <option key={id} value={id}>
            {url === undefined ? `${name} (the HQ itself)` : name}
          </option>
        ))}
      </select>
    </label>
  );
}
