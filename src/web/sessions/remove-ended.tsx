import type { VNode } from "preact";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Confirm } from "../components/confirm.tsx";
import { useToggle } from "../components/toggle.ts";

type RemoveEndedProps = Pick<WorkspaceProps, "workspace"> & { readonly ended: readonly SessionRecord[] };

/** Removes all ended sessions that the list shows. */
export function RemoveEnded({ workspace, ended }: RemoveEndedProps): VNode {
  const question = useToggle();
  const count = ended.length;
  const remove = (): void => void workspace.removeEnded(workspace.filter.isOn.peek() ? ended : undefined);
  return (
    <>
      <button type="button" class="button ghost small" onClick={question.on}>
        Remove all
      </button>
      {question.isOn && (
        <Confirm
          question={count === 1 ? "Remove the ended session?" : `Remove ${count} ended sessions?`}
          detail="Their recordings are deleted permanently."
          yes="Remove"
          onYes={remove}
          onClose={question.off}
        />
      )}
    </>
  );
}
