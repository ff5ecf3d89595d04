import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

type ConfirmProps = {
  readonly question: string;
  readonly detail: string;
  /** The word on the button that does it. */
  readonly yes: string;
  readonly onYes: () => void;
  readonly onClose: () => void;
};

/** Asks before something that cannot be taken back. Escape and a click beside it mean no. */
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
            // The safe answer is the one that Enter gives by accident; this one is a Tab away.
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
