import { table } from "../table.ts";
import type { Systemctl } from "./systemctl.ts";
import { HOST_UNIT, SERVER_UNIT } from "./unit-file.ts";

export type UnitState = {
  readonly unit: string;
  /** As systemd says it: `active`, `failed`, `inactive`, …; `not installed`. */
  readonly state: string;
  /** `enabled` where it starts with the machine. */
  readonly atStart: string;
  readonly pid?: number;
  /** How often it was started again by itself. */
  readonly restarts: number;
};

const PROPERTIES = ["LoadState", "ActiveState", "UnitFileState", "MainPID", "NRestarts"];

export async function unitStates(systemctl: Systemctl): Promise<readonly UnitState[]> {
  return await Promise.all([SERVER_UNIT, HOST_UNIT].map((unit) => unitState(systemctl, unit)));
}

export function isRunning({ state }: UnitState): boolean {
  return state === "active";
}

export function statusText(states: readonly UnitState[]): string {
  const rows = states.map(({ unit, state, atStart, pid, restarts }) => [
    unit,
    state,
    atStart,
    `${pid ?? ""}`,
    `${restarts}`,
  ]);
  return table(["UNIT", "STATE", "AT START", "PID", "RESTARTS"], rows);
}

export function statusJson(states: readonly UnitState[]): string {
  return `${JSON.stringify(states, undefined, 2)}\n`;
}

async function unitState(systemctl: Systemctl, unit: string): Promise<UnitState> {
  const properties = await systemctl.properties(unit, PROPERTIES);
  const isThere = properties.get("LoadState") === "loaded";
  const pid = Number(properties.get("MainPID"));
  return {
    unit,
    state: isThere ? (properties.get("ActiveState") ?? "") : "not installed",
    atStart: properties.get("UnitFileState") ?? "",
    ...(pid > 0 ? { pid } : {}),
    restarts: Number(properties.get("NRestarts") ?? 0),
  };
}
