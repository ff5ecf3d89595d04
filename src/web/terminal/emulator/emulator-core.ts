// The one look behind the public interface of @xterm/xterm: its handlers get a copy of a sequence's numbers, and the guard
// has to change them.
import type { ControlId, ControlSequence, GuardedParser } from "../../../protocol/parser-guard.ts";

type Core = {
  readonly buffers: { readonly active: GuardedParser["active"] };
  registerCsiHandler(id: ControlId, seen: (sequence: ControlSequence) => boolean): unknown;
};

/** Where the terminal parses. Throws an Error when xterm.js is not what it was. */
export function emulatorCore(terminal: object): GuardedParser {
  const core: unknown = Reflect.get(terminal, "_core");
  if (!isCore(core)) throw new Error("xterm.js has changed: its parser is not to be found");
  return {
    get active() {
      return core.buffers.active;
    },
    beforeCsi: (id, seen) => {
      core.registerCsiHandler(id, (sequence) => {
        seen(sequence);
        return false;
      });
    },
  };
}

function isCore(core: unknown): core is Core {
  if (typeof core !== "object" || core === null) return false;
  const handler: unknown = Reflect.get(core, "registerCsiHandler");
  const buffers: unknown = Reflect.get(core, "buffers");
  const active: unknown = typeof buffers === "object" && buffers !== null && Reflect.get(buffers, "active");
  return typeof handler === "function" && isBuffer(active);
}

function isBuffer(value: unknown): value is GuardedParser["active"] {
  if (typeof value !== "object" || value === null) return false;
  const isPlace = ["x", "y", "ybase"].every((name) => typeof Reflect.get(value, name) === "number");
  return isPlace && typeof Reflect.get(value, "lines") === "object";
}
