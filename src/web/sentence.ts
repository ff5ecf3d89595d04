/** A message, which begins with a small letter and ends without a stop, as a sentence of the page. */
export function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Why something failed; `otherwise` where the failure says nothing. */
export function failureSentence(error: unknown, otherwise: string): string {
  return error instanceof Error && error.message !== "" ? sentence(error.message) : otherwise;
}
