import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { SessionProps } from "../app/view-props.ts";
import { Banner } from "../components/banner.tsx";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { lazy } from "../components/lazy.tsx";
import { SessionFiles } from "../files/session-files.tsx";
import { isSearchKey } from "../terminal/emulator/terminal-keys.ts";
import type { OpenSession } from "../terminal/open-session.ts";
import { EndedBar } from "./ended-bar.tsx";
import { SearchBar } from "./search-bar.tsx";
import { SessionHead } from "./session-head.tsx";
import { GuestNameQuestion } from "./sharing/guest-name-form.tsx";

type SessionViewProps = SessionProps & {
  /** Whether this session has the focus among the visible ones. */
  readonly isFocused: boolean;
  /** The time from which the recording is played, if it is. */
  readonly playFrom: number | undefined;
  readonly label: string;
};

export function SessionView({ page, workspace, open, isFocused, playFrom, label }: SessionViewProps): VNode {
  /** The number of requests for the search bar since it was last closed. */
  const searches = useSignal(0);
  const body = useRef<HTMLDivElement>(null);
  const phase = open.phase.value;
  const link = open.link.value;
  const isPlaying = playFrom !== undefined;
  const search = (): void => {
    searches.value += 1;
  };
  // The player covers the terminal and the search bar.
  useSearchKey(isFocused && !isPlaying, search);
  useBell(workspace, open);
  const closeSearch = (): void => {
    searches.value = 0;
    open.emulator.focus();
  };
  return (
    <section class="session" aria-label={label}>
      <SessionHead {...{ page, workspace, open }} {...(!isPlaying && { onSearch: search })} />
      <div class="session-body" ref={body}>
        <TerminalPane open={open} isFocused={isFocused} isCovered={isPlaying} />
        <div class="overlay top">
          {searches.value > 0 && (
            <SearchBar search={open.emulator.search} requests={searches.value} onClose={closeSearch} />
          )}
          {open.mayFit.value && workspace.connection.value.kind === "open" && <SizeChip open={open} />}
          <GuestNameQuestion workspace={workspace} open={open} />
          <ClipboardQuestion open={open} />
        </div>
        {open.isInputPending.value && (
          <output class="pending-input">No answer yet: what you typed may not have arrived.</output>
        )}
        <SessionFiles page={page} workspace={workspace} open={open} area={body} />
        {link !== undefined && <div class="link-target">{link}</div>}
        {phase.kind === "missing" && <Missing workspace={workspace} />}
        <MachineBanner workspace={workspace} open={open} />
        {isPlaying && (
          <Playback
            key={playFrom}
            {...{ page, workspace, open, isFocused }}
            startAt={playFrom}
            onClose={() => workspace.panes.show(open.id)}
          />
        )}
      </div>
      {phase.kind === "ended" && !isPlaying && (
        <EndedBar page={page} workspace={workspace} open={open} ending={phase.ending} />
      )}
    </section>
  );
}

const Playback = lazy("The player", async () => (await import("../playback/playback-view.tsx")).PlaybackView);

type TerminalPaneProps = {
  readonly open: OpenSession;
  readonly isFocused: boolean;
  /** While the recording covers it, it takes no keys. */
  readonly isCovered: boolean;
};

/** The terminal's element; it flashes for the bell. */
function TerminalPane({ open, isFocused, isCovered }: TerminalPaneProps): VNode {
  const pane = useRef<HTMLDivElement>(null);
  const bells = open.bells.value;
  const phase = open.phase.value.kind;
  useLayoutEffect(() => {
    const mounted = pane.current === null ? undefined : open.mount(pane.current);
    return () => mounted?.[Symbol.dispose]();
  }, [open]);
  // Runs before the next key.
  useLayoutEffect(() => {
    if (isFocused && !isCovered) open.emulator.focus();
    // layout/panes-view.tsx moves the focus between panes.
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

/** Says that the session's size differs from this window's, and offers to change it. */
function SizeChip({ open: { sizing, emulator } }: Pick<SessionProps, "open">): VNode | undefined {
  const size = sizing.foreign.value;
  if (size === undefined) return undefined;
  return (
    <Button
      kind="small chip"
      icon="fit"
      title="Another window set this size. Resize the session to fit this window."
      onClick={() => {
        sizing.fit();
        emulator.focus();
      }}
    >
      {size.cols} × {size.rows} · Fit to my window
    </Button>
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
      {workspace.panes.areSeveral && (
        <div class="missing-ways">
          <Button kind="primary" onClick={() => workspace.panes.empty()}>
            Choose another session
          </Button>
          <Button onClick={() => workspace.panes.closeFocused()}>Close pane</Button>
        </div>
      )}
      {!workspace.panes.areSeveral && workspace.permissions.has("sessions:create") && (
        <a class="button primary" href="#/new">
          Start a new session
        </a>
      )}
    </div>
  );
}

/**
 * Shown while the open session is unavailable: at an HQ while its machine is unreachable and until the session is back,
 * elsewhere when it was refused.
 */
function MachineBanner({ workspace, open }: Omit<SessionProps, "page">): VNode | undefined {
  const isAway = open.reachability.isUnreachable.value;
  const isLost = open.phase.value.kind === "failed";
  // Without a connection the state of machines is unknown, and the other banner says so.
  if (workspace.connection.value.kind !== "open" || !(isAway || isLost)) return undefined;
  const isHq = workspace.machines.all.value !== undefined;
  const name = workspace.sessions.record(open.id)?.source ?? "The machine";
  const back = isHq ? `Back to ${name}…` : "The session could not be opened. Trying again…";
  const words = isAway
    ? `${name} is offline. The session keeps running; you are reconnected when the machine is back online.`
    : back;
  return <Banner words={words} refusals={open.reachability.refusals.value} />;
}

const PREVIEW_CHARACTERS = 60;

/** Asks once per session whether its programs may write to the clipboard. */
function ClipboardQuestion({ open: { clipboard, emulator } }: Pick<SessionProps, "open">): VNode | undefined {
  const text = clipboard.waiting.value;
  if (text === undefined) return undefined;
  const answer = (isAllowed: boolean): void => {
    clipboard.answer(isAllowed);
    emulator.focus();
  };
  const [line = ""] = text.trim().split("\n", 1);
  const isCut = text.trim().length > PREVIEW_CHARACTERS || line !== text.trim();
  return (
    <section class="clipboard-question" role="status" aria-label="Clipboard">
      <p>
        <Icon name="copy" />A program in this session wants to copy {text.length}{" "}
        {text.length === 1 ? "character" : "characters"} to your clipboard:
      </p>
      <code>
        {line.slice(0, PREVIEW_CHARACTERS)}
        {isCut && "…"}
      </code>
      <p class="clipboard-answers">
        <Button kind="small" onClick={() => answer(false)}>
          Never here
        </Button>
        <Button kind="small primary" onClick={() => answer(true)}>
          Allow in this session
        </Button>
      </p>
    </section>
  );
}

function useSearchKey(isFocused: boolean, search: () => void): void {
  useLayoutEffect(() => {
    if (!isFocused) return undefined;
    const listen = (event: KeyboardEvent): void => {
      if (!isSearchKey(event)) return;
      event.preventDefault();
      search();
    };
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, [isFocused]);
}

/** The bell of a visible session needs no mark in the list. */
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
