import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import type { SessionProps } from "../app/view-props.ts";
import { Icon } from "../components/icon.tsx";
import { ageWords, type Ending, endingBadge, endingTone, endingWords } from "./words.ts";

/** How the program ended, and the possible actions. */
export function EndedBar({
  page,
  workspace,
  open,
  ending,
}: SessionProps & { readonly ending: Ending }): VNode {
  const record = workspace.sessions.record(open.id);
  const isBusy = useSignal(false);
  const { what, why } = endingWords(ending);
  const tone = endingTone(ending);
  const again = async (): Promise<void> => {
    if (record === undefined) return;
    isBusy.value = true;
    try {
      const { command, cwd, name, cols, rows, remoteId } = record;
      const machine = remoteId === undefined ? {} : { remoteId };
      await workspace.start({ command, cwd, name, cols, rows, ...machine });
    } catch (error) {
      page.notices.failed("The session could not be started", error);
    }
    isBusy.value = false;
  };
  return (
    <div class={`ended-bar ${tone}`} role="status">
      <span class={`badge ${tone}`}>{endingBadge(ending)}</span>
      <div class="ended-words">
        <strong>{what}</strong>
        {record?.exitedAt !== undefined && (
          <span class="muted">
            {" "}
            · {agoWords(ageWords(Date.parse(record.exitedAt), page.clock.now.value))}
          </span>
        )}
        <p class="muted">{why}</p>
      </div>
      {record !== undefined && (
        <button type="button" class="button" onClick={() => workspace.panes.show(record.id, 0)}>
          <Icon name="play" />
          Play
        </button>
      )}
      {record !== undefined && workspace.permissions.has("sessions:create") && (
        <button type="button" class="button" disabled={isBusy.value} onClick={() => void again()}>
          <Icon name="again" />
          Start again
        </button>
      )}
    </div>
  );
}

function agoWords(age: string): string {
  return age === "just now" ? age : `${age} ago`;
}
