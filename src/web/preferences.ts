// What a person chose on this device. Kept in the browser, never sent.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { z } from "zod";
import { SessionId } from "../protocol/schemas/session.ts";
import type { BrowserStorage } from "./browser-storage.ts";
import { PALETTE_NAMES } from "./terminal/emulator/palette.ts";

const KEY = "ttyhq.preferences";
export const MIN_FONT_SIZE_PX = 9;
export const MAX_FONT_SIZE_PX = 28;
const DEFAULT_FONT_SIZE_PX = 14;
/** Sessions whose answer about the clipboard is kept; the oldest answer goes first. */
const MAX_CLIPBOARD_ANSWERS = 100;

/** Of the list of sessions; by machine: on an HQ, else as `newest`. */
export const ListOrder = z.enum(["machine", "newest", "activity", "name"]);
export type ListOrder = z.infer<typeof ListOrder>;

/** A family as CSS takes it between quotes; empty: the fonts of the page. */
export const FontName = z.string().regex(/^[\p{L}\p{N} ._+-]{0,60}$/u);
export const ThemeChoice = z.enum(["system", ...PALETTE_NAMES]);
export const Bell = z.enum(["off", "flash", "sound"]);
/** Whether programs may put text on the clipboard (OSC 52). `ask`: once for each session. */
export const ClipboardPolicy = z.enum(["ask", "allow", "deny"]);
const ClipboardAnswer = z.object({ id: SessionId, isAllowed: z.boolean() });

/** What the browser notifies of, in sessions that are not in view. */
export const NotificationKind = z.enum(["exit", "input", "bell", "git"]);
export type NotificationKind = z.infer<typeof NotificationKind>;

const Stored = z.object({
  fontSizePx: z.int().min(MIN_FONT_SIZE_PX).max(MAX_FONT_SIZE_PX).catch(DEFAULT_FONT_SIZE_PX),
  font: FontName.catch(""),
  /** The icons of Nerd Fonts: a font of 1 MB, loaded when this is on. */
  hasIconFont: z.boolean().catch(false),
  theme: ThemeChoice.catch("system"),
  bell: Bell.catch("flash"),
  notifications: z.array(NotificationKind).max(NotificationKind.options.length).catch([]),
  /** What follow mode did in the repository of a session that is in view. */
  hasFollowNotices: z.boolean().catch(true),
  copyOnSelect: z.boolean().catch(false),
  clipboard: ClipboardPolicy.catch("ask"),
  clipboardAnswers: z.array(ClipboardAnswer).max(MAX_CLIPBOARD_ANSWERS).catch([]),
  /** Sixel and iTerm images. */
  hasImages: z.boolean().catch(false),
  screenReader: z.boolean().catch(false),
  /** On an HQ: the name of the machine that the last session was started on. */
  machine: z.string().catch(""),
  order: ListOrder.catch("machine"),
});
export type Choices = z.infer<typeof Stored>;

export class Preferences {
  readonly #storage: BrowserStorage;
  readonly #value: Signal<Choices>;

  constructor(storage: BrowserStorage) {
    this.#storage = storage;
    this.#value = signal(read(storage));
  }

  get current(): ReadonlySignal<Choices> {
    return this.#value;
  }

  /** A font size is taken to the nearest that is allowed. */
  change(part: Partial<Choices>): void {
    const { fontSizePx, ...others } = { ...this.#value.peek(), ...part };
    const size = Math.min(MAX_FONT_SIZE_PX, Math.max(MIN_FONT_SIZE_PX, fontSizePx));
    this.#value.value = { fontSizePx: size, ...others };
    this.#storage.set(KEY, JSON.stringify(this.#value.value));
  }

  /** Undefined where the person has not been asked. */
  mayWriteClipboard(id: string): boolean | undefined {
    const { clipboard, clipboardAnswers } = this.#value.peek();
    if (clipboard !== "ask") return clipboard === "allow";
    return clipboardAnswers.find((answer) => answer.id === id)?.isAllowed;
  }

  answerClipboard(id: string, isAllowed: boolean): void {
    const others = this.#value.peek().clipboardAnswers.filter((answer) => answer.id !== id);
    this.change({ clipboardAnswers: [...others, { id, isAllowed }].slice(-MAX_CLIPBOARD_ANSWERS) });
  }
}

function read(storage: BrowserStorage): Choices {
  try {
    return Stored.catch(Stored.parse({})).parse(JSON.parse(storage.get(KEY) ?? "{}"));
  } catch {
    return Stored.parse({});
  }
}
