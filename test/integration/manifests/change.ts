/** One thing that is changed in what an overlay makes. */
export type Change = {
  readonly about: string;
  /** Kind and name of the object, and the way to the member in it. */
  readonly of: string;
  readonly at: string;
  /** In place of what is there; `undefined` takes it away. */
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

/** Copies of the objects, one of them changed. Throws where there is no such object or no way to the member. */
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
