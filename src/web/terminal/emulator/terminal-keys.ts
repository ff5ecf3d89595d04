// Keys for the page rather than the program. Ctrl+V belongs to the program. Ctrl+Shift+V, Shift+Insert and Cmd+V are
// the browser's paste, which the emulator handles.
import type { Terminal } from "@xterm/xterm";

/** Handles keys of the page. False if the emulator must ignore the key. */
export function isForEmulator(
  event: KeyboardEvent,
  terminal: Pick<Terminal, "hasSelection" | "clearSelection">,
): boolean {
  if (isSearchKey(event)) return false;
  if (!isCopyKey(event)) return true;
  event.preventDefault();
  if (event.type === "keydown" && terminal.hasSelection()) {
    // The emulator answers the copy event with its selection; this works without HTTPS, unlike navigator.clipboard.
    document.execCommand("copy");
    terminal.clearSelection();
  }
  return false;
}

/** Ctrl+Shift+F, Cmd+F, Cmd+Shift+F. Plain Ctrl+F belongs to the program. */
export function isSearchKey(event: KeyboardEvent): boolean {
  return event.code === "KeyF" && !event.altKey && ((event.ctrlKey && event.shiftKey) || event.metaKey);
}

function isCopyKey(event: KeyboardEvent): boolean {
  const isLetter = event.code === "KeyC" && event.ctrlKey && event.shiftKey && !event.altKey;
  return isLetter || (event.code === "Insert" && event.ctrlKey && !event.shiftKey);
}
