import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { ConnectionState } from "../../protocol/client/connection.ts";
import { Banner } from "../components/banner.tsx";
import { Button } from "../components/button.tsx";
import type { Workspace } from "./workspace.ts";

type ConnectionBannerProps = { readonly workspace: Workspace; readonly refusals: number };

const STEP_MS = 250;

/** Shown while there is no connection, except during a short announced restart. */
export function ConnectionBanner({ workspace, refusals }: ConnectionBannerProps): VNode | undefined {
  const state = workspace.connection.value;
  const now = useNow(state.kind === "waiting");
  if (state.kind === "open" || ("isPlanned" in state && state.isPlanned && refusals === 0)) return undefined;
  return (
    <Banner words={connectionWords(state, now)} refusals={refusals}>
      {state.kind === "waiting" && (
        <Button kind="small" onClick={() => workspace.reconnect()}>
          Try now
        </Button>
      )}
      {state.kind === "closed" && (
        <Button kind="small" onClick={() => location.reload()}>
          Reload
        </Button>
      )}
    </Banner>
  );
}

function connectionWords(state: ConnectionState, now: number): string {
  if (state.kind === "closed") return `Disconnected: ${state.error?.message ?? "the connection was closed"}.`;
  if (state.kind === "connecting") return "Connecting…";
  if (state.kind === "open") return "";
  if (!navigator.onLine) return "This device is offline.";
  const seconds = Math.ceil((state.until - now) / 1000);
  return seconds > 0 ? `No connection. Retrying in ${seconds} s.` : "No connection. Retrying…";
}

/** The current time, updated while the component is mounted. */
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
