import type { Command } from "commander";
import { addCommand, type Definition, jsonText } from "./command.ts";
import type { Cli } from "./process-context.ts";
import { addServerOptions, type Server, type ServerFlags, serverOf } from "./server.ts";

export type Query<Flags, Answer> = Omit<Definition<Flags>, "run" | "isDefault"> & {
  /** Description of the option --json. */
  readonly json: string;
  /** "server": the session host cannot replace the server. */
  readonly who?: "server";
  ask(server: Server, flags: Flags & ServerFlags, args: readonly string[]): Promise<Answer>;
  text(answer: Answer, flags: Flags): string;
};

/** Adds a command that prints a server's answer as text or as JSON. */
export function addQuery<Flags, Answer>(parent: Command, cli: Cli, query: Query<Flags, Answer>): void {
  const { json, who, options, ...rest } = query;
  addCommand<Flags & ServerFlags & { readonly json?: true }>(parent, {
    ...rest,
    options: (command) => addServerOptions((options?.(command) ?? command).option("--json", json)),
    run: async (flags, args) => {
      const answer = await query.ask(await serverOf(flags, cli, who), flags, args);
      cli.stdout.write(flags.json ? jsonText(answer) : query.text(answer, flags));
    },
  });
}
