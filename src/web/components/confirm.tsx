import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, type ButtonProps } from "./button.tsx";
import { useToggle } from "./toggle.ts";

type Question = {
  readonly question: string;
  readonly detail: string;
  /** The label of the confirming button. */
  readonly yes: string;
  readonly onYes: () => void;
};

/** A button whose action needs a confirmation. */
export function ConfirmButton({
  question,
  detail,
  yes,
  onYes,
  ...button
}: Question & Omit<ButtonProps, "onClick">): VNode {
  const asking = useToggle();
  return (
    <>
      <Button {...button} onClick={asking.on} />
      {asking.isOn && <Confirm {...{ question, detail, yes, onYes }} onClose={asking.off} />}
    </>
  );
}

type ConfirmProps = Question & { readonly onClose: () => void };

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
          <Button onClick={close}>Cancel</Button>
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
