/** Turns a message, which starts in lower case without a full stop, into a sentence of the page. */
export function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The reason of a failure; `otherwise` if it has no message. */
export function failureSentence(error: unknown, otherwise: string): string {
  return error instanceof Error && error.message !== "" ? sentence(error.message) : otherwise;
}
