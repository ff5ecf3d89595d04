// Arguments that every command for tokens takes.
import { InvalidArgumentError } from "commander";
import type { z } from "zod";
import { spanMs } from "../../../config/options/span.ts";

/** A time from 1s to 365d, in seconds, and at most `maxS`. `example`: one that the message shows. */
export function lifetimeUpTo(maxS: number, example: string): (text: string) => number {
  return (text) => {
    const seconds = (spanMs(text.toLowerCase()) ?? Number.NaN) / 1000;
    if (Number.isInteger(seconds) && seconds >= 1 && seconds <= maxS) return seconds;
    throw new InvalidArgumentError(`It must be a time from 1s to 365d, such as ${example}.`);
  };
}

/** What the schema takes, whose message says what that is. */
export function argumentOf(schema: z.ZodType<string>): (text: string) => string {
  return (text) => {
    const argument = schema.safeParse(text);
    if (argument.success) return argument.data;
    throw new InvalidArgumentError(`It must be ${argument.error.issues[0]?.message}.`);
  };
}
