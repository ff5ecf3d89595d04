import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

type ConfirmProps = {
  readonly question: string;
  readonly detail: string;
  /** The label of the confirming button. */
  readonly yes: string;
  readonly onYes: () => void;
  readonly onClose: () => void;
};

/** Asks before an irreversible action. Escape and a click outside cancel. */
export function Confirm({ question, detail, yes, onYes, onClose }: ConfirmProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = (): void => dialog.current?.close();
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-question" closedby="any" onClose={onClose}>
      <div class="confirm-body">
        <h2 id="confirm-question">{question}</h2>
        <p class="muted">{detail}</p>
        <div class="confirm-buttons">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button
            type="button"
            class="button danger"
            // Enter gives the safe answer by default; this one needs a Tab first.
            onClick={() => {
              close();
              onYes();
            }}
          >
            {yes}
          </button>
        </div>
      </div>
    </dialog>
  );
}
