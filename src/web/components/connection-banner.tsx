import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ConnectionState } from "../../protocol/connection.ts";
import type { Workspace } from "../workspace.ts";
import { Icon } from "./icon.tsx";

type ConnectionBannerProps = {
  readonly workspace: Workspace;
  /** Grows with every key that was typed and not sent. */
  readonly refusals: number;
};

const STEP_MS = 250;

/** Lies over the terminal, which stays as it is, while there is no connection. */
export function ConnectionBanner({ workspace, refusals }: ConnectionBannerProps): VNode | undefined {
  const state = workspace.connection.value;
  const refusalsBefore = useRef(refusals);
  const isOpen = state.kind === "open";
  if (isOpen) refusalsBefore.current = refusals;
  const now = useNow(state.kind === "waiting");
  if (isOpen) return undefined;
  const refused = refusals - refusalsBefore.current;
  return (
    <div class="banner" role="status">
      <Icon name="plug" />
      <span>{connectionWords(state, now)}</span>
      {refused > 0 && (
        // Another key for each refusal starts the animation anew.
        <strong key={refused} class="refused">
          What you type is not sent.
        </strong>
      )}
      {state.kind === "waiting" && (
        <button type="button" class="button small" onClick={() => workspace.reconnect()}>
          Try now
        </button>
      )}
      {state.kind === "closed" && (
        <button type="button" class="button small" onClick={() => location.reload()}>
          Reload
        </button>
      )}
    </div>
  );
}

function connectionWords(state: ConnectionState, now: number): string {
  if (state.kind === "closed") return `Disconnected: ${state.error?.message ?? "the connection was closed"}.`;
  if (state.kind === "connecting") return "Connecting…";
  if (state.kind === "open") return "";
  const seconds = Math.ceil((state.until - now) / 1000);
  return seconds > 0 ? `No connection. Next try in ${seconds} s.` : "No connection. Trying again…";
}

/** The time, going on while it is needed. */
function useNow(isNeeded: boolean): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!isNeeded) return undefined;
    now.value = Date.now();
    const timer = setInterval(() => {
      now.value = Date.now();
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [isNeeded, now]);
  return now.value;
}
