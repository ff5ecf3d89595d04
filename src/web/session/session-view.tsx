import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { SessionProps } from "../app/view-props.ts";
import { Icon } from "../components/icon.tsx";
import { useLoaded } from "../components/loaded.ts";
import { useToggle } from "../components/toggle.ts";
import { isSearchKey } from "../terminal/emulator/terminal-keys.ts";
import type { OpenSession } from "../terminal/open-session.ts";
import type { Sizing } from "../terminal/sizing.ts";
import { ClipboardQuestion } from "./clipboard-question.tsx";
import { EndedBar } from "./ended-bar.tsx";
import { KeyBar } from "./key-bar.tsx";
import { SearchBar } from "./search-bar.tsx";
import { SessionHead } from "./session-head.tsx";

export function SessionView({ page, workspace, open }: SessionProps): VNode {
  const searching = useToggle();
  const phase = open.phase.value;
  const link = open.link.value;
  const route = page.address.route.value;
  const playFrom = route.view === "session" && route.id === open.id ? route.at : undefined;
  useSearchKey(searching.on);
  useBell(workspace, open);
  const closeSearch = (): void => {
    searching.off();
    open.emulator.focus();
  };
  return (
    <section class="session" aria-label="Terminal">
      <SessionHead page={page} workspace={workspace} open={open} onSearch={searching.on} />
      <div class="session-body">
        <TerminalPane open={open} isCovered={playFrom !== undefined} />
        <div class="overlay top">
          {searching.isOn && <SearchBar search={open.emulator.search} onClose={closeSearch} />}
          {phase.kind === "running" && workspace.connection.value.kind === "open" && (
            <SizeChip sizing={open.sizing} />
          )}
          <ClipboardQuestion requests={open.clipboard} />
        </div>
        {open.isInputPending.value && (
          <output class="pending-input">No answer yet: what you typed may not have arrived.</output>
        )}
        {link !== undefined && <div class="link-target">{link}</div>}
        {phase.kind === "missing" && <Missing workspace={workspace} />}
        {playFrom !== undefined && (
          <Playback key={playFrom} page={page} workspace={workspace} open={open} startAt={playFrom} />
        )}
      </div>
      {phase.kind === "ended" && playFrom === undefined && (
        <EndedBar page={page} workspace={workspace} open={open} ending={phase.ending} />
      )}
      {phase.kind === "running" && playFrom === undefined && <KeyBar open={open} />}
    </section>
  );
}

/** Loads the player when it is first needed. */
function Playback(props: SessionProps & { readonly startAt: number }): VNode | undefined {
  const code = useLoaded(
    () => import("../playback/playback-view.tsx"),
    (error) => props.page.notices.failed("The player did not load; reload the page", error),
  );
  return code && <code.PlaybackView {...props} />;
}

type TerminalPaneProps = {
  readonly open: OpenSession;
  /** The recording is played over it: it takes no keys. */
  readonly isCovered: boolean;
};

/** The element that the terminal is drawn into; it flashes when the bell rings. */
function TerminalPane({ open, isCovered }: TerminalPaneProps): VNode {
  const pane = useRef<HTMLDivElement>(null);
  const bells = open.bells.value;
  const phase = open.phase.value.kind;
  useEffect(() => {
    if (pane.current === null) return undefined;
    const mounted = open.mount(pane.current);
    open.emulator.focus();
    return () => mounted[Symbol.dispose]();
  }, [open]);
  // Before the next key.
  useLayoutEffect(() => {
    if (!isCovered) open.emulator.focus();
  }, [open, isCovered]);
  return (
    <div
      class={`terminal-frame ${phase}`}
      inert={isCovered}
      style={{ background: open.palette.value.background }}
    >
      <div class="terminal-pane" ref={pane} />
      {bells > 0 && <div key={bells} class="bell-flash" />}
      {phase === "opening" && <output class="splash" aria-label="Opening the session" />}
    </div>
  );
}

/** Says that the session has another size than this window, and offers to change that. */
function SizeChip({ sizing }: { readonly sizing: Sizing }): VNode | undefined {
  const size = sizing.foreign.value;
  if (size === undefined) return undefined;
  return (
    <button
      type="button"
      class="button small chip"
      title="Another window set this size. Resize the session to fit this window."
      onClick={() => sizing.fit()}
    >
      <Icon name="fit" />
      {size.cols} × {size.rows} · Fit to my window
    </button>
  );
}

function Missing({ workspace }: Pick<SessionProps, "workspace">): VNode {
  const isHq = workspace.machines.all.value !== undefined;
  return (
    <div class="missing">
      <h2>Session not found</h2>
      <p class="muted">
        {isHq
          ? "It was removed, its machine is offline, or the address is wrong."
          : "It was removed, or the address is wrong."}
      </p>
      {workspace.permissions.has("sessions:create") && (
        <a class="button primary" href="#/new">
          Start a new session
        </a>
      )}
    </div>
  );
}

function useSearchKey(search: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (!isSearchKey(event)) return;
      event.preventDefault();
      search();
    };
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, []);
}

/** The bell of a session that is looked at needs no mark in the list. */
function useBell(workspace: SessionProps["workspace"], open: OpenSession): void {
  const hasRung = workspace.sessions.rung.value.has(open.id);
  useEffect(() => {
    const see = (): void => {
      if (document.visibilityState === "visible") workspace.sessions.seen(open.id);
    };
    see();
    document.addEventListener("visibilitychange", see);
    return () => document.removeEventListener("visibilitychange", see);
  }, [hasRung, workspace, open.id]);
}
