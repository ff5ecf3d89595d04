// The content of a notification. Names, titles and messages may come from a program: they become short plain text.
// Pure.
import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { GitNotification } from "../../protocol/schemas/follow.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { Notice } from "../app/notices.ts";
import type { NotificationKind } from "../preferences.ts";
import { endingWords, nameWords } from "../session/words.ts";

export type Alert = {
  /** Undefined if it is about no session. */
  readonly sessionId?: string;
  readonly title: string;
  readonly body: string;
};

const MAX_TITLE = 80;
const MAX_BODY = 200;
/** Controls, marks that change the direction of text, and invisible characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** One line without controls, of at most that many characters. */
export function plainText(text: string, max: number): string {
  const characters = [...text.replace(UNSEEN, " ").replace(/\s+/g, " ").trim()];
  return characters.length <= max ? characters.join("") : `${characters.slice(0, max - 1).join("")}…`;
}

/** The kind that has to be enabled; "any": at least one kind. Undefined: no notification. */
export function kindOf({ type }: ServerEvent): NotificationKind | "any" | undefined {
  return KINDS[type];
}

/** `record`: of the event's session, if it has one. */
export function alertOf(event: ServerEvent, record: SessionRecord | undefined): Alert {
  if (record === undefined) return plain(event.title ?? "ttyhq", event.body ?? "");
  const { source } = record;
  const name = plainText(nameWords(record), MAX_TITLE / 2);
  return {
    sessionId: record.id,
    ...plain(source === undefined ? name : `${name} on ${source}`, bodyOf(event, record)),
  };
}

/** Follow mode's action, for viewers of a session in the repository. */
export function followNotice({ level, title, message }: GitNotification): Omit<Notice, "id"> {
  const tone = level === "error" ? "error" : "info";
  return { tone, text: plainText(`${title}: ${message}`, MAX_BODY) };
}

const KINDS: Partial<Record<ServerEvent["type"], NotificationKind | "any">> = {
  "test-notification": "any",
  bell: "bell",
  "session-exit": "exit",
  "command-finished": "input",
  "waiting-for-input": "input",
  "program-notification": "input",
  "git-notification": "git",
};

function bodyOf(event: ServerEvent, record: SessionRecord): string {
  const { type, title = "", body = "", command = "", duration = 0, exitCode = 0, notification } = event;
  if (type === "bell") return "The bell rang.";
  if (type === "session-exit") return `${endingWords(event.record ?? record).what}.`;
  if (notification !== undefined) return followNotice(notification).text;
  if (type === "program-notification") return title === "" ? body : `${title}: ${body}`;
  if (type === "waiting-for-input") return "It waits for input.";
  const what = command === "" ? "The command" : plainText(command, MAX_BODY / 2);
  const how = exitCode === 0 ? "has finished" : `ended with code ${exitCode}`;
  return `${what} ${how} after ${Math.round(duration / 1000)} s.`;
}

function plain(title: string, body: string): Pick<Alert, "title" | "body"> {
  return { title: plainText(title, MAX_TITLE), body: plainText(body, MAX_BODY) };
}
