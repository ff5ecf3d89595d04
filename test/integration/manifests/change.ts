/** A change of an overlay's objects. */
export type Change = {
  readonly about: string;
  /** Kind and name of the object, and the path of the member. */
  readonly of: string;
  readonly at: string;
  /** The new value; `undefined` removes the member. */
  readonly value: unknown;
  readonly said: readonly string[];
};

export function change(
  about: string,
  of: string,
  at: string,
  value: unknown,
  ...said: readonly string[]
): Change {
  return { about, of, at, value, said };
}

type Members = Record<string, unknown>;

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}

function nameOf(object: unknown): string {
  if (!isObject(object) || !isObject(object.metadata)) return "";
  return `${object.kind}/${object.metadata.name}`;
}

/** Copies of the objects, one of them changed. Throws if the object or the path does not exist. */
export function changed(
  objects: readonly unknown[],
  { of, at, value }: Pick<Change, "of" | "at" | "value">,
): readonly unknown[] {
  const copies = structuredClone(objects);
  let place = copies.find((object) => nameOf(object) === of);
  const way = at.split("/");
  const member = way.pop() ?? "";
  for (const step of way) place = isObject(place) ? place[step] : undefined;
  if (!isObject(place)) throw new Error(`${of} has no ${at}`);
  if (value === undefined) delete place[member];
  else place[member] = value;
  return copies;
}
