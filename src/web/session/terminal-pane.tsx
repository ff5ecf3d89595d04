import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { OpenSession } from "../terminal/open-session.ts";

/** The element that the terminal is drawn into; it flashes when the bell rings. */
export function TerminalPane({ open }: { readonly open: OpenSession }): VNode {
  const pane = useRef<HTMLDivElement>(null);
  const bells = open.bells.value;
  const phase = open.phase.value.kind;
  useEffect(() => {
    if (pane.current === null) return undefined;
    const mounted = open.mount(pane.current);
    open.emulator.focus();
    return () => mounted[Symbol.dispose]();
  }, [open]);
  return (
    <div class={`terminal-frame ${phase}`}>
      <div class="terminal-pane" ref={pane} />
      {bells > 0 && <div key={bells} class="bell-flash" />}
      {phase === "opening" && <output class="splash" aria-label="Opening the session" />}
    </div>
  );
}
