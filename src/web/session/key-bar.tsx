import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import type { SessionProps } from "../app/view-props.ts";
import { Icon } from "../components/icon.tsx";
import type { Emulator } from "../terminal/emulator/emulator.ts";
import type { ModifierState } from "../terminal/emulator/modifier-keys.ts";

const UPPER_KEYS = [
  { label: "Esc", name: "Escape", text: "\x1b" },
  { label: "Tab", name: "Tab", text: "\t" },
  { label: "Home", name: "Home key", text: "\x1b[H" },
  { label: "↑", name: "Up", text: "\x1b[A" },
  { label: "End", name: "End key", text: "\x1b[F" },
  { label: "PgUp", name: "Page up", text: "\x1b[5~" },
  { label: "|", name: "Pipe", text: "|" },
] as const;

const LOWER_KEYS = [
  { label: "←", name: "Left", text: "\x1b[D" },
  { label: "↓", name: "Down", text: "\x1b[B" },
  { label: "→", name: "Right", text: "\x1b[C" },
  { label: "PgDn", name: "Page down", text: "\x1b[6~" },
  { label: "~", name: "Tilde", text: "~" },
] as const;

/** The keys that a phone's keyboard lacks; shown for touch input. */
export function KeyBar({ page, open }: Omit<SessionProps, "workspace">): VNode {
  const { emulator, modifiers } = open;
  return (
    // Pressing a button must not move the focus: the keyboard would close.
    <div class="key-bar" role="toolbar" aria-label="Keys" onPointerDown={(event) => event.preventDefault()}>
      {UPPER_KEYS.map((key) => (
        <Key key={key.name} {...key} emulator={emulator} />
      ))}
      <ClipboardKey page={page} emulator={emulator} />
      <ModifierKey label="Ctrl" state={modifiers.state("ctrl")} onTap={() => modifiers.tap("ctrl")} />
      <ModifierKey label="Alt" state={modifiers.state("alt")} onTap={() => modifiers.tap("alt")} />
      {LOWER_KEYS.map((key) => (
        <Key key={key.name} {...key} emulator={emulator} />
      ))}
      <Key label="/" name="Slash" text="/" emulator={emulator} />
    </div>
  );
}

type KeyProps = {
  readonly label: ComponentChildren;
  readonly name: string;
  readonly text: string;
  readonly emulator: Emulator;
};

function Key({ label, name, text, emulator }: KeyProps): VNode {
  return (
    <button type="button" class="key" aria-label={name} onClick={() => emulator.type(text)}>
      {label}
    </button>
  );
}

type ModifierKeyProps = {
  readonly label: string;
  readonly state: ReadonlySignal<ModifierState>;
  readonly onTap: () => void;
};

function ModifierKey({ label, state, onTap }: ModifierKeyProps): VNode {
  return (
    <button
      type="button"
      class={state.value === "locked" ? "key locked" : "key"}
      aria-pressed={state.value !== "off"}
      title="Tap: for the next key. Tap twice: for all keys."
      onClick={onTap}
    >
      {label}
    </button>
  );
}

/** Copies the selection, or pastes if there is none. */
function ClipboardKey({
  page,
  emulator,
}: Pick<SessionProps, "page"> & Pick<KeyProps, "emulator">): VNode | undefined {
  if (!("clipboard" in navigator)) return undefined;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(emulator.selection);
    emulator.clearSelection();
  };
  const paste = async (): Promise<void> => emulator.paste(await navigator.clipboard.readText());
  const hasSelection = emulator.hasSelection.value;
  const failed = (error: unknown): void =>
    page.notices.failed(`Nothing was ${hasSelection ? "copied" : "pasted"}`, error);
  return (
    <button
      type="button"
      class="key"
      aria-label={hasSelection ? "Copy" : "Paste"}
      onClick={() => void (hasSelection ? copy() : paste()).catch(failed)}
    >
      <Icon name={hasSelection ? "copy" : "paste"} />
    </button>
  );
}
