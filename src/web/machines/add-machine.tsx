import type { VNode } from "preact";
import { CopyButton } from "../components/copy-button.tsx";
import { joinCommand } from "./join-command.ts";

/** How a machine joins this HQ. `isOpen`: nobody has to log in. */
export function AddMachine({ isOpen }: { readonly isOpen: boolean }): VNode {
  const { text, hints } = joinCommand({ origin: location.origin, isOpen });
  return (
    <div class="add-machine">
      <p class="muted">Run this on the machine. It joins by itself and then stands in the list.</p>
      <div class="command">
        <pre class="mono">{text}</pre>
        <CopyButton text={text} />
      </div>
      {hints.length > 0 && (
        <ul class="hints">
          {hints.map((hint) => (
            <li key={hint}>{hint}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
