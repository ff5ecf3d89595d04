import type { VNode } from "preact";
import { Icon } from "../components/icon.tsx";
import type { Sizing } from "../terminal/sizing.ts";

/** Says that the session has another size than this window, and offers to change that. */
export function SizeChip({ sizing }: { readonly sizing: Sizing }): VNode | undefined {
  const size = sizing.foreign.value;
  if (size === undefined) return undefined;
  return (
    <button
      type="button"
      class="button small chip"
      title="Another window made the session this size. Make it fit this one."
      onClick={() => sizing.fit()}
    >
      <Icon name="fit" />
      {size.cols} × {size.rows} · Fit to my window
    </button>
  );
}
