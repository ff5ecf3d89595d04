import type { ComponentChildren, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

type DialogProps = {
  readonly title: string;
  /** The content below the title. */
  readonly about: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
};

/** A dialog with a title and a close button; Escape and a click outside close it as well. */
export function Dialog({ title, about, onClose, children }: DialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // Removal alone would not restore the focus.
    return () => shown?.close();
  }, []);
  // The event of a dialog that is already removed could close its successor.
  const closed = (): void => {
    if (dialog.current !== null) onClose();
  };
  return (
    <dialog ref={dialog} class="confirm share" aria-labelledby={titleId} closedby="any" onClose={closed}>
      <div class="confirm-body">
        <div class="share-head">
          <h2 id={titleId}>{title}</h2>
          <Button kind="ghost small" icon="close" label="Close" onClick={() => dialog.current?.close()} />
        </div>
        <p class="muted">{about}</p>
        {children}
      </div>
    </dialog>
  );
}
