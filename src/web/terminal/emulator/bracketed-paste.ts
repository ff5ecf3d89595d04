// Bracketed paste tells a program where a paste begins and ends, so that it runs nothing of it. xterm.js forwards
// pasted text unchanged. If a web page put the end marker into it, the rest would count as typed, line by line.

const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

/** Filters the emulator's output: in a marked paste all other escape characters become visible ones. */
export function safeInput(data: string): string {
  if (!data.startsWith(BEGIN) || !data.endsWith(END)) return data;
  const pasted = data.slice(BEGIN.length, -END.length);
  return BEGIN + pasted.replaceAll("\x1b", "␛").replaceAll("\x9b", "␛") + END;
}
