import type { Command } from "commander";
import { described, type Help, jsonText } from "./command.ts";
import type { Cli } from "./process-context.ts";
import { addServerOptions, type Server, type ServerFlags, serverOf } from "./server.ts";

export type Query<Flags, Answer> = Help & {
  /** Name and arguments, as `kill <session...>`. */
  readonly usage: string;
  /** Description of the option --json. */
  readonly json: string;
  /** "server": the session host does not stand in for a server that is not running. */
  readonly who?: "server";
  /** Adds the command's own options. */
  readonly options?: (command: Command) => Command;
  ask(server: Server, flags: Flags & ServerFlags, args: readonly string[]): Promise<Answer>;
  /** The answer as text for people. */
  text(answer: Answer): string;
};

/** Adds a command that asks a server and prints its answer, as text or as JSON. */
export function addQuery<Flags, Answer>(parent: Command, cli: Cli, query: Query<Flags, Answer>): void {
  const { usage, json, who, options } = query;
  const command = parent.command(usage);
  options?.(command);
  addServerOptions(command.option("--json", json)).action(async () => {
    const flags = command.opts<Flags & ServerFlags & { readonly json?: true }>();
    const answer = await query.ask(serverOf(flags, cli, who), flags, command.processedArgs.flat());
    cli.stdout.write(flags.json ? jsonText(answer) : query.text(answer));
  });
  described(command, query);
}
