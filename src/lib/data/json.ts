/** `undefined` for invalid JSON, which a schema then reports. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === "string" ? json : new TextDecoder().decode(json));
  } catch {
    return undefined;
  }
}

/** No JSON of the service needs more levels; deeper nesting would exhaust recursive code, such as JSON.stringify. */
export const MAX_JSON_DEPTH = 32;

/** Whether a value is nested deeper than MAX_JSON_DEPTH. Never calls itself. */
export function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= MAX_JSON_DEPTH && level.length > 0; depth++) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
  return level.length > 0;
}
