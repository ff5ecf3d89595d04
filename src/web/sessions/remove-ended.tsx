import type { VNode } from "preact";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { ConfirmButton } from "../components/confirm.tsx";

type RemoveEndedProps = Pick<WorkspaceProps, "workspace"> & { readonly ended: readonly SessionRecord[] };

/** Removes all ended sessions that the list shows. */
export function RemoveEnded({ workspace, ended }: RemoveEndedProps): VNode {
  const count = ended.length;
  return (
    <ConfirmButton
      kind="ghost small"
      question={count === 1 ? "Remove the ended session?" : `Remove ${count} ended sessions?`}
      detail="Their recordings are deleted permanently."
      yes="Remove"
      onYes={() => void workspace.removeEnded(workspace.filter.isOn.peek() ? ended : undefined)}
    >
      Remove all
    </ConfirmButton>
  );
}
