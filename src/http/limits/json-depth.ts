import { ServiceError } from "../../protocol/errors.ts";

/** Nothing that this service is asked has more levels; what has, is made to exhaust whoever walks through it. */
const MAX_DEPTH = 32;

/** Throws `invalid_request` for a value that is nested deeper than MAX_DEPTH, without ever calling itself. */
export function refuseDeep(value: unknown): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) {
      throw new ServiceError("invalid_request", `the body is nested deeper than ${MAX_DEPTH} levels`);
    }
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
}
