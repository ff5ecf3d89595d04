import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { joinCommand } from "../join-command.ts";
import { Icon } from "./icon.tsx";

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

/** Only where the browser lets a page write to the clipboard: over HTTPS, or on this very machine. */
function CopyButton({ text }: { readonly text: string }): VNode | undefined {
  const isDone = useSignal(false);
  if (!("clipboard" in navigator)) return undefined;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    isDone.value = true;
  };
  return (
    <button
      type="button"
      class="button ghost small"
      aria-label={isDone.value ? "Copied" : "Copy"}
      title="Copy"
      onClick={() => void copy().catch(() => undefined)}
    >
      <Icon name={isDone.value ? "check" : "copy"} />
    </button>
  );
}
