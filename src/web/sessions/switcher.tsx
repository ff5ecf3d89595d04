import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { WorkspaceProps } from "../app/view-props.ts";
import { SessionFinder } from "./session-finder.tsx";

type SwitcherProps = Pick<WorkspaceProps, "workspace"> & { readonly onClose: () => void };

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
