import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import type { SessionProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { agoWords, type Ending, endingBadge, endingTone, endingWords } from "./words.ts";

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
    const { command, cwd, name, cols, rows, remoteId } = record;
    const machine = remoteId === undefined ? {} : { remoteId };
    await page.notices.attempt("The session could not be started", () =>
      workspace.start({ command, cwd, name, cols, rows, ...machine }),
    );
    isBusy.value = false;
  };
  return (
    <div class={`ended-bar ${tone}`} role="status">
      <span class={`badge ${tone}`}>{endingBadge(ending)}</span>
      <div class="ended-words">
        <strong>{what}</strong>
        {record?.exitedAt !== undefined && (
          <span class="muted"> · {agoWords(Date.parse(record.exitedAt), page.clock.now.value)}</span>
        )}
        <p class="muted">{why}</p>
      </div>
      {record !== undefined && (
        <div class="ended-actions">
          <Button icon="play" onClick={() => workspace.panes.show(record.id, 0)}>
            Play
          </Button>
          {workspace.permissions.has("sessions:create") && (
            <Button icon="again" disabled={isBusy.value} onClick={() => void again()}>
              Start again
            </Button>
          )}
        </div>
      )}
    </div>
  );
}
