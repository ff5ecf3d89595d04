import { type ServerEvent, sessionEvent } from "../protocol/frame/event.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { ForegroundNews } from "./pty/foreground.ts";

/** What a session reports to whoever keeps it. */
export type SessionChange = "changed" | "exited" | "bell" | ForegroundNews;

/** What is told of a session that does not change its record. */
export function newsEvent(record: SessionRecord, news: ForegroundNews): ServerEvent {
  if (news.kind === "waiting") return sessionEvent("waiting-for-input", record);
  const { kind, ...members } = news;
  const type = kind === "command" ? "command-finished" : "program-notification";
  return { ...sessionEvent(type, record), ...members };
}
