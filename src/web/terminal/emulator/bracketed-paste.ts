// A program that asked for it is told where a paste begins and ends, and runs none of it. xterm.js passes on what is pasted
// as it is: with the end of a paste in it, as a web page can put there, the rest would count as typed, line by line.

const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

/** What the emulator wants to send; in a paste with what marks its ends every other beginning of a sequence is made visible. */
export function safeInput(data: string): string {
  if (!data.startsWith(BEGIN) || !data.endsWith(END)) return data;
  const pasted = data.slice(BEGIN.length, -END.length);
  return BEGIN + pasted.replaceAll("\x1b", "␛").replaceAll("\x9b", "␛") + END;
}
