import type { TargetedKeyboardEvent, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { Icon } from "../components/icon.tsx";
import { useToggle } from "../components/toggle.ts";
import { isComposing } from "../composition.ts";
import { nameWords } from "./words.ts";

type NameFieldProps = {
  readonly record: SessionRecord;
  readonly onRename: (name: string) => void;
  /** A key has ended the input: gives the focus to the terminal. */
  readonly onLeave: () => void;
};

/** The session's name; a click makes it a field. */
export function NameField({ record, onRename, onLeave }: NameFieldProps): VNode {
  const editing = useToggle();
  if (editing.isOn) {
    return (
      <NameInput
        name={nameWords(record)}
        onLeave={onLeave}
        onDone={(name) => {
          editing.off();
          if (name !== undefined && name !== nameWords(record)) onRename(name);
        }}
      />
    );
  }
  return (
    <h1 class="session-name">
      <button type="button" title={`${record.name} (click to rename)`} onClick={editing.on}>
        <span>{nameWords(record)}</span>
        <Icon name="pencil" />
      </button>
    </h1>
  );
}

type NameInputProps = Pick<NameFieldProps, "onLeave"> & {
  readonly name: string;
  /** Called once; without a name if the old one stays. */
  readonly onDone: (name: string | undefined) => void;
};

function NameInput({ name, onDone, onLeave }: NameInputProps): VNode {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.select(), []);
  const isDone = useRef(false);
  // Removing a focused field also triggers its blur event, with the current value.
  const done = (typed: string | undefined): void => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(typed);
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (isComposing(event) || (event.key !== "Escape" && event.key !== "Enter")) return;
    // The key press that follows would go to the terminal.
    event.preventDefault();
    if (event.key === "Escape") done(undefined);
    // The blur event follows.
    onLeave();
  };
  return (
    <input
      ref={input}
      class="name-input"
      aria-label="Name of the session"
      defaultValue={name}
      maxLength={256}
      spellcheck={false}
      onKeyDown={onKeyDown}
      onBlur={(event) => done(event.currentTarget.value.trim() || undefined)}
    />
  );
}
