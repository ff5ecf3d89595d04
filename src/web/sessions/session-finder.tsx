import { useSignal } from "@preact/signals";
import type { RefObject, TargetedKeyboardEvent, VNode } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { isComposing } from "../composition.ts";
import { detailWords, nameWords } from "../session/words.ts";
import { fuzzyFind } from "./list-filter.ts";

/** More letters find further sessions. */
const MAX_FOUND = 50;

type SessionFinderProps = Pick<WorkspaceProps, "workspace"> & {
  readonly sessions: readonly SessionRecord[];
  /** Called before the session opens. */
  readonly onOpen: () => void;
};

/** Finds a session by some of its letters and opens it. */
export function SessionFinder({ workspace, sessions, onOpen }: SessionFinderProps): VNode {
  const list = useRef<HTMLDivElement>(null);
  const letters = useSignal("");
  /** The id of a session; the first one by default. */
  const chosen = useSignal<string | undefined>(undefined);
  const id = useId();
  const found = fuzzyFind(letters.value, sessions).slice(0, MAX_FOUND);
  const chosenAt = found.findIndex((record) => record.id === chosen.value);
  const at = Math.min(Math.max(0, chosenAt), found.length - 1);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (isComposing(event) || (step === undefined && event.key !== "Enter")) return;
    event.preventDefault();
    if (step !== undefined) chosen.value = found[Math.max(0, Math.min(found.length - 1, at + step))]?.id;
    else list.current?.querySelector<HTMLElement>("[aria-selected=true]")?.click();
  };
  return (
    <>
      <input
        type="text"
        role="combobox"
        aria-label="Find a session"
        aria-expanded="true"
        aria-controls={id}
        {...(at >= 0 && { "aria-activedescendant": `${id}-${at}` })}
        placeholder="Find a session"
        autocomplete="off"
        spellcheck={false}
        onKeyDown={onKeyDown}
        onInput={({ currentTarget }) => {
          letters.value = currentTarget.value;
          chosen.value = undefined;
        }}
      />
      <Found {...{ workspace, id, list, found, chosen: at, onOpen }} />
      {found.length === 0 && <p class="empty">No session matches.</p>}
    </>
  );
}

type FoundProps = Pick<SessionFinderProps, "workspace" | "onOpen"> & {
  readonly id: string;
  readonly list: RefObject<HTMLDivElement | null>;
  readonly found: readonly SessionRecord[];
  readonly chosen: number;
};

function Found({ workspace, id, list, found, chosen, onOpen }: FoundProps): VNode {
  return (
    <div ref={list} id={id} role="listbox" aria-label="Sessions found" tabIndex={-1}>
      {found.map((record, index) => {
        const { href, onClick } = workspace.panes.linkTo(record.id);
        return (
          <a
            key={record.id}
            id={`${id}-${index}`}
            href={href}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            onClick={(event) => {
              onOpen();
              onClick(event);
            }}
          >
            <span class={record.status === "exited" ? "dot unknown" : "dot open"} />
            <span class="row-name">{nameWords(record)}</span>
            <span class="row-detail">{record.source ?? detailWords(record)}</span>
          </a>
        );
      })}
    </div>
  );
}

type SwitcherProps = Pick<WorkspaceProps, "workspace"> & { readonly onClose: () => void };

/** The finder in a dialog. */
export function Switcher({ workspace, onClose }: SwitcherProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector("input")?.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="confirm switcher finder"
      aria-label="Find a session"
      closedby="any"
      onClose={onClose}
    >
      <SessionFinder
        workspace={workspace}
        sessions={workspace.sessions.all.value ?? []}
        // Closing returns the focus to its previous owner, before the opening terminal takes it.
        onOpen={() => dialog.current?.close()}
      />
    </dialog>
  );
}
