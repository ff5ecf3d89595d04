import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { ConnectionState } from "../../protocol/client/connection.ts";
import { Banner } from "../components/banner.tsx";
import { Button, keepFocus } from "../components/button.tsx";
import type { Workspace } from "./workspace.ts";

type ConnectionBannerProps = { readonly workspace: Workspace; readonly refusals: number };

const STEP_MS = 250;

/** Shown while there is no connection, except during a short announced restart. */
export function ConnectionBanner({ workspace, refusals }: ConnectionBannerProps): VNode | undefined {
  const state = workspace.connection.value;
  if (state.kind === "open" || ("isPlanned" in state && state.isPlanned && refusals === 0)) return undefined;
  return (
    <Banner words={connectionWords(state)} refusals={refusals}>
      {state.kind === "waiting" && (
        <>
          {navigator.onLine && <Countdown until={state.until} />}
          <Button kind="small" onMouseDown={keepFocus} onClick={() => workspace.reconnect()}>
            Try now
          </Button>
        </>
      )}
      {state.kind === "closed" && (
        <Button kind="small" onClick={() => location.reload()}>
          Reload
        </Button>
      )}
    </Banner>
  );
}

function connectionWords(state: ConnectionState): string {
  if (state.kind === "closed") return `Disconnected: ${state.error?.message ?? "the connection was closed"}.`;
  if (state.kind === "connecting") return "Connecting…";
  if (state.kind === "open") return "";
  return navigator.onLine ? "No connection." : "This device is offline.";
}

/** `until`: the time of the next attempt, in milliseconds since 1970. */
function Countdown({ until }: { readonly until: number }): VNode {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, STEP_MS);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.ceil((until - now.value) / 1000);
  return <span>{seconds > 0 ? `Retrying in ${seconds} s.` : "Retrying…"}</span>;
}
