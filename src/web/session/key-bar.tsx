import type { VNode } from "preact";
import { Icon } from "../components/icon.tsx";
import type { OpenSession } from "../terminal/open-session.ts";

const KEYS = [
  { label: "Esc", name: "Escape", text: "\x1b" },
  { label: "Tab", name: "Tab", text: "\t" },
  { label: "←", name: "Left", text: "\x1b[D" },
  { label: "↓", name: "Down", text: "\x1b[B" },
  { label: "↑", name: "Up", text: "\x1b[A" },
  { label: "→", name: "Right", text: "\x1b[C" },
  { label: "|", name: "Pipe", text: "|" },
  { label: "~", name: "Tilde", text: "~" },
] as const;

/** The keys that a phone's keyboard lacks; shown where the pointer is a finger. */
export function KeyBar({ open }: { readonly open: OpenSession }): VNode {
  const isControl = open.controlKey.isPressed.value;
  const { emulator } = open;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(emulator.selection);
    emulator.clearSelection();
  };
  const paste = async (): Promise<void> => open.emulator.paste(await navigator.clipboard.readText());
  return (
    // Pressing a button must not take the focus away: the keyboard would go.
    <div class="key-bar" role="toolbar" aria-label="Keys" onPointerDown={(event) => event.preventDefault()}>
      {"clipboard" in navigator && emulator.hasSelection.value && (
        <button type="button" class="key" onClick={() => void copy().catch(() => undefined)}>
          Copy
        </button>
      )}
      <button type="button" class="key" aria-pressed={isControl} onClick={() => open.controlKey.toggle()}>
        Ctrl
      </button>
      {KEYS.map(({ label, name, text }) => (
        <button
          key={name}
          type="button"
          class="key"
          aria-label={name}
          onClick={() => open.emulator.type(text)}
        >
          {label}
        </button>
      ))}
      {"clipboard" in navigator && (
        <button
          type="button"
          class="key"
          aria-label="Paste"
          onClick={() => void paste().catch(() => undefined)}
        >
          <Icon name="paste" />
        </button>
      )}
    </div>
  );
}
