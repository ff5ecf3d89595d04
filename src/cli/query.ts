import {
  type AddCommand,
  type Declaration,
  declare,
  ExitCode,
  type Flags,
  jsonText,
  type Values,
} from "./command.ts";
import type { Cli } from "./process-context.ts";
import { SERVER_FLAGS, type Server, serverOf } from "./server.ts";

type Query<F extends Flags, Answer> = Declaration & {
  readonly flags?: F;
  readonly json: string;
  /** "server": the session host cannot replace the server. */
  readonly who?: "server";
  ask(server: Server, flags: Values<F>, args: readonly string[], cli: Cli): Promise<Answer>;
  toJson?(answer: Answer): unknown;
  text(answer: Answer, flags: Values<F>, cli: Cli): string;
  exitCode?(answer: Answer): number;
};

type Given<F extends Flags> = Values<F> & Values<typeof SERVER_FLAGS> & { readonly json?: true };

export function query<const F extends Flags, Answer>(definition: Query<F, Answer>): AddCommand {
  const { json, who, ask, toJson = (answer: Answer) => answer, text, exitCode } = definition;
  const flags = { ...definition.flags, json: ["--json", json], ...SERVER_FLAGS } as const;
  return declare<Given<F>>({ ...definition, flags }, async (given, args, cli) => {
    const answer = await ask(await serverOf(given, cli, who), given, args, cli);
    cli.stdout.write(given.json ? jsonText(toJson(answer)) : text(answer, given, cli));
    return exitCode?.(answer) ?? ExitCode.Ok;
  });
}
