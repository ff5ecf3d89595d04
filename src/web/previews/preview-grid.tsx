import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Icon } from "../components/icon.tsx";
import { ageWords, nameWords } from "../session/words.ts";
import { Status } from "../sessions/session-row.tsx";
import { paletteOf } from "../terminal/emulator/palette.ts";
import { LiveScreen } from "./live-screen.ts";

/** The screens of all sessions that the list shows, each a link to its session. */
export function PreviewGrid({ page, workspace }: WorkspaceProps): VNode {
  const records = workspace.filter.shown.value ?? [];
  const isVisible = useVisibility();
  return (
    <section class="previews" aria-label="Previews">
      <header class="previews-head">
        <a class="button ghost back" href={routeHash({ view: "list" })}>
          <Icon name="back" />
          Sessions
        </a>
        <h1>All sessions</h1>
      </header>
      {records.length === 0 && <p class="empty">No sessions to show.</p>}
      <ul class="previews-grid">
        {records.map((record) => (
          <Preview key={record.id} {...{ page, workspace, record, isVisible }} />
        ))}
      </ul>
    </section>
  );
}

type PreviewProps = WorkspaceProps & {
  readonly record: SessionRecord;
  /** Whether the page is visible: a hidden one keeps the drawn screens and gets no others. */
  readonly isVisible: boolean;
};

function Preview({ page, workspace, record, isVisible }: PreviewProps): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { id, cols, rows } = record;
  const palette = paletteOf(page.preferences.current.value.theme, page.scheme.value);
  useEffect(() => {
    if (canvas.current === null || !isVisible) return;
    const screen = new LiveScreen({
      canvas: canvas.current,
      subscribe: (onSnapshot) => workspace.preview(id, onSnapshot),
      ...{ size: { cols, rows }, palette },
    });
    return () => screen[Symbol.dispose]();
  }, [workspace, id, cols, rows, palette, isVisible]);
  const since = record.exitedAt ?? record.created;
  return (
    <li>
      <a class="preview" {...workspace.panes.linkTo(id)}>
        <canvas ref={canvas} />
        <span class="row-line">
          <Status record={record} isAway={workspace.machines.isGone(record.source)} />
          <span class="row-name" title={record.name}>
            {nameWords(record)}
          </span>
          {record.source !== undefined && <span class="row-owner">{record.source}</span>}
          <time class="row-age" dateTime={since}>
            {ageWords(Date.parse(since), page.clock.now.value)}
          </time>
        </span>
      </a>
    </li>
  );
}

function useVisibility(): boolean {
  const isVisible = useSignal(document.visibilityState === "visible");
  useEffect(() => {
    const read = (): void => {
      isVisible.value = document.visibilityState === "visible";
    };
    document.addEventListener("visibilitychange", read);
    return () => document.removeEventListener("visibilitychange", read);
  }, []);
  return isVisible.value;
}
