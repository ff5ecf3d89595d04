import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { useToggle } from "../components/toggle.ts";
import { NewSession } from "../sessions/new-session.tsx";
import { SessionFinder } from "../sessions/session-finder.tsx";

type EmptyPaneProps = WorkspaceProps & { readonly number: number; readonly isFocused: boolean };

/** A pane without a session: the user chooses or starts one. */
export function EmptyPane({ page, workspace, number, isFocused }: EmptyPaneProps): VNode {
  const starting = useToggle();
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!isFocused || root.current?.contains(document.activeElement)) return;
    root.current?.querySelector("input")?.focus({ preventScroll: true });
  }, [isFocused]);
  const { panes, sessions, permissions } = workspace;
  const choices = (sessions.all.value ?? []).filter(({ id }) => !panes.open.value.has(id));
  return (
    <section class="empty-pane" aria-label={`Empty pane ${number + 1}`} ref={root}>
      <div class="empty-pane-tools">
        {permissions.has("sessions:create") && (
          <Button
            kind="small"
            icon={starting.isOn ? "search" : "plus"}
            aria-pressed={starting.isOn}
            onClick={starting.flip}
          >
            {starting.isOn ? "Choose a session" : "Start a session"}
          </Button>
        )}
        {panes.areSeveral && (
          <Button
            kind="ghost small"
            icon="close"
            label="Close pane"
            title="Close pane (Ctrl+Shift+X)"
            onClick={() => panes.close(number)}
          />
        )}
      </div>
      {starting.isOn ? (
        <NewSession page={page} workspace={workspace} />
      ) : (
        <div class="finder">
          <SessionFinder workspace={workspace} sessions={choices} onOpen={() => panes.focus(number)} />
        </div>
      )}
    </section>
  );
}
