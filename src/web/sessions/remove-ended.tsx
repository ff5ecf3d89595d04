import type { VNode } from "preact";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Confirm } from "../components/confirm.tsx";
import { useToggle } from "../components/toggle.ts";

type RemoveEndedProps = Pick<WorkspaceProps, "workspace"> & { readonly count: number };

export function RemoveEnded({ workspace, count }: RemoveEndedProps): VNode {
  const question = useToggle();
  return (
    <>
      <button type="button" class="button ghost small" onClick={question.on}>
        Remove all
      </button>
      {question.isOn && (
        <Confirm
          question={count === 1 ? "Remove the ended session?" : `Remove all ${count} ended sessions?`}
          detail="Their recordings are deleted permanently."
          yes="Remove"
          onYes={() => void workspace.removeEnded()}
          onClose={question.off}
        />
      )}
    </>
  );
}
