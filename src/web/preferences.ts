// A person's settings on this device. Stored in the browser, never sent.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { z } from "zod";
import { parseJson } from "../protocol/json.ts";
import { SessionId } from "../protocol/schemas/session.ts";
import type { BrowserStorage, StorageWindow } from "./browser-storage.ts";
import { PALETTE_NAMES } from "./terminal/emulator/palette.ts";

const KEY = "ttyhq.preferences";
export const MIN_FONT_SIZE_PX = 9;
export const MAX_FONT_SIZE_PX = 28;
const DEFAULT_FONT_SIZE_PX = 14;
/** Sessions whose clipboard answer is stored; the oldest answer is dropped first. */
const MAX_CLIPBOARD_ANSWERS = 100;

/** A font family in CSS syntax between quotes; empty: the page's fonts. */
export const FontName = z.string().regex(/^[\p{L}\p{N} ._+-]{0,60}$/u);
const ClipboardAnswer = z.object({ id: SessionId, isAllowed: z.boolean() });

/** Notification kinds for sessions that are not visible. */
export const NotificationKind = z.enum(["exit", "input", "bell", "git"]);
export type NotificationKind = z.infer<typeof NotificationKind>;

const Stored = z.object({
  fontSizePx: z.int().min(MIN_FONT_SIZE_PX).max(MAX_FONT_SIZE_PX).catch(DEFAULT_FONT_SIZE_PX),
  font: FontName.catch(""),
  /** The icons of Nerd Fonts: a font of 1 MB, loaded when enabled. */
  hasIconFont: z.boolean().catch(false),
  theme: z.enum(["system", ...PALETTE_NAMES]).catch("system"),
  bell: z.enum(["off", "flash", "sound"]).catch("flash"),
  notifications: z.array(NotificationKind).max(NotificationKind.options.length).catch([]),
  /** Follow mode's actions in the repository of a visible session. */
  hasFollowNotices: z.boolean().catch(true),
  copyOnSelect: z.boolean().catch(false),
  /** Whether programs may write to the clipboard (OSC 52). `ask`: once for each session. */
  clipboard: z.enum(["ask", "allow", "deny"]).catch("ask"),
  clipboardAnswers: z.array(ClipboardAnswer).max(MAX_CLIPBOARD_ANSWERS).catch([]),
  /** Sixel and iTerm images. */
  hasImages: z.boolean().catch(false),
  screenReader: z.boolean().catch(false),
  /** At an HQ: the name of the machine of the last started session. */
  machine: z.string().catch(""),
  /** Of the list of sessions; by machine: at an HQ, otherwise like `newest`. */
  order: z.enum(["machine", "newest", "activity", "name"]).catch("machine"),
});
export type Choices = z.infer<typeof Stored>;
export type ListOrder = Choices["order"];

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

  /** Applies what other tabs store. */
  follow(window: Pick<StorageWindow, "addEventListener" | "removeEventListener">): Disposable {
    const listen = ({ key }: StorageEvent): void => {
      if (key === KEY) this.#read();
    };
    this.#read();
    window.addEventListener("storage", listen);
    return { [Symbol.dispose]: () => window.removeEventListener("storage", listen) };
  }

  /** A font size is clamped to the allowed range. */
  change(part: Partial<Choices>): void {
    // Another tab may have stored other settings.
    const { fontSizePx, ...others } = { ...read(this.#storage), ...part };
    const size = Math.min(MAX_FONT_SIZE_PX, Math.max(MIN_FONT_SIZE_PX, fontSizePx));
    this.#value.value = { fontSizePx: size, ...others };
    this.#storage.set(KEY, JSON.stringify(this.#value.value));
  }

  /** Undefined until the person was asked. */
  mayWriteClipboard(id: string): boolean | undefined {
    const { clipboard, clipboardAnswers } = this.#value.peek();
    if (clipboard !== "ask") return clipboard === "allow";
    return clipboardAnswers.find((answer) => answer.id === id)?.isAllowed;
  }

  answerClipboard(id: string, isAllowed: boolean): void {
    const others = read(this.#storage).clipboardAnswers.filter((answer) => answer.id !== id);
    this.change({ clipboardAnswers: [...others, { id, isAllowed }].slice(-MAX_CLIPBOARD_ANSWERS) });
  }

  #read(): void {
    this.#value.value = read(this.#storage);
  }
}

function read(storage: BrowserStorage): Choices {
  return Stored.catch(Stored.parse({})).parse(parseJson(storage.get(KEY) ?? "{}"));
}
