/** No JSON of the service needs more levels; deeper nesting would exhaust recursive code, such as JSON.stringify. */
const MAX_DEPTH = 32;

/** Throws SyntaxError for text that is no JSON, and RangeError for more than `maxValues`, or nested deeper than MAX_DEPTH. */
export function parseShallowJson(text: string, maxValues = Number.POSITIVE_INFINITY): unknown {
  const value: unknown = JSON.parse(text);
  // Without recursion, which this is to protect.
  let level: readonly unknown[] = [value];
  let values = 1;
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    level = level.flatMap(members);
    values += level.length;
    if (values > maxValues) throw new RangeError(`longer than ${maxValues} values`);
  }
  if (level.length > 0) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

function members(value: unknown): readonly unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}
