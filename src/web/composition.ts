/** The code of keys that an input method handles. Safari ends a composition before its last key, which has only this. */
const INPUT_METHOD_KEY = 229;

/** Whether the key belongs to an input method rather than to the page or the program. */
export function isComposing(event: Pick<KeyboardEvent, "isComposing" | "keyCode">): boolean {
  return event.isComposing || event.keyCode === INPUT_METHOD_KEY;
}
