import { type Command, InvalidArgumentError } from "commander";
import type { Client } from "../../../protocol/client/client.ts";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { MAX_API_TOKEN_LIFETIME_S } from "../../../protocol/limits.ts";
import { ApiTokenName, type ApiTokenRecord } from "../../../protocol/schemas/login.ts";
import { TokenScope } from "../../../protocol/schemas/permission.ts";
import { duration } from "../../duration.ts";
import { examples } from "../../examples.ts";
import { printable } from "../../printable.ts";
import type { Cli } from "../../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../../server.ts";
import { table } from "../../table.ts";
import { argumentOf, lifetimeUpTo } from "./token-arguments.ts";

type JsonFlags = ServerFlags & { readonly json?: true };
type ListFlags = JsonFlags & { readonly all?: true };
type CreateFlags = JsonFlags & {
  readonly name: string;
  readonly scope: readonly TokenScope[];
  readonly ttl: number;
};

/** Tokens of a user for programs. */
export function addToken(program: Command, cli: Cli): void {
  const group = program
    .command("token")
    .summary("make, list and revoke API tokens for programs")
    .description("API tokens: each lets a program do some of what its user may do, until it expires.");
  addCreate(group, cli);
  addList(group, cli);
  addRevoke(group, cli);
  group.addHelpText(
    "after",
    examples(
      ["ttyhq token create --name ci --scope sessions:view,sessions:create --ttl 30d", "and print it"],
      ["TTYHQ_TOKEN=... ttyhq ls --url https://term.example.com", "use it elsewhere"],
      ["ttyhq token revoke ci", "it ends at once"],
    ),
  );
}

function addCreate(group: Command, cli: Cli): void {
  const create = group
    .command("create")
    .summary("make a token and print it")
    .description(
      "Make an API token of yours, at a local server of its own user, and print it. It cannot be shown again.",
    )
    .requiredOption("--name <name>", "what it is listed and revoked by", argumentOf(ApiTokenName))
    .requiredOption("--scope <list>", `what it may do, of ${TokenScope.options.join(", ")}`, scopeOf)
    .requiredOption(
      "--ttl <time>",
      "how long it works, such as 30d",
      lifetimeUpTo(MAX_API_TOKEN_LIFETIME_S, "30d"),
    )
    .option("--json", "print the token with its id, scope and expiry as JSON")
    .allowExcessArguments(false)
    .action(async ({ name, scope, ttl, ...flags }: CreateFlags) => {
      const body = { name, scope: [...scope], expiresIn: ttl };
      const made = await serverOf(flags, cli, "server").client.call(endpoints.createApiToken, { body });
      cli.stdout.write(flags.json ? `${JSON.stringify(made)}\n` : `${made.token}\n`);
    });
  addServerOptions(create);
}

function addList(group: Command, cli: Cli): void {
  const list = group
    .command("list")
    .summary("list your tokens that work")
    .option("--all", "those of everybody, for admins")
    .option("--json", "print them as a JSON array")
    .allowExcessArguments(false)
    .action(async ({ all, ...flags }: ListFlags) => {
      const tokens = await tokensOf(serverOf(flags, cli, "server").client, all);
      cli.stdout.write(flags.json ? `${JSON.stringify(tokens, undefined, 2)}\n` : tokenTable(tokens, cli));
    });
  addServerOptions(list);
}

function addRevoke(group: Command, cli: Cli): void {
  const revoke = group
    .command("revoke")
    .summary("end tokens, and what they have open")
    .argument("<name...>", "names of your tokens, or ids of anybody's")
    .option("--json", "print what was revoked as JSON")
    .action(async (names: readonly string[], flags: JsonFlags) => {
      const { client } = serverOf(flags, cli, "server");
      const own = await tokensOf(client);
      const revoked: { readonly id: string; readonly user: string }[] = [];
      for (const name of names) {
        const tokenId = own.find((token) => token.name === name)?.id ?? name;
        const { user } = await client.call(endpoints.revokeApiToken, { params: { tokenId } });
        revoked.push({ id: tokenId, user });
        if (!flags.json) cli.stdout.write(`${printable(name)} revoked\n`);
      }
      if (flags.json) cli.stdout.write(`${JSON.stringify(revoked)}\n`);
    });
  addServerOptions(revoke);
}

async function tokensOf(client: Client, isAll?: boolean): Promise<readonly ApiTokenRecord[]> {
  return await client.call(endpoints.listApiTokens, { query: isAll ? { all: "1" } : {} });
}

function tokenTable(tokens: readonly ApiTokenRecord[], cli: Cli): string {
  const rows = tokens.map(({ id, name, user, scope, lastUsedAt, expiresAt }) => [
    ...[
      name,
      printable(user),
      scope.join(","),
      lastUsedAt === undefined ? "never" : `${sinceNow(lastUsedAt)} ago`,
    ],
    ...[duration((Date.parse(expiresAt) - Date.now()) / 1000), id],
  ]);
  return table(["NAME", "USER", "SCOPE", "LAST USED", "EXPIRES IN", "ID"], rows, cli.stdout.columns);
}

function sinceNow(time: string): string {
  return duration(Math.max(0, Date.now() - Date.parse(time)) / 1000);
}

function scopeOf(text: string): readonly TokenScope[] {
  return text.split(",").map((part) => {
    const permission = TokenScope.safeParse(part.trim());
    if (permission.success) return permission.data;
    throw new InvalidArgumentError(`Each must be one of ${TokenScope.options.join(", ")}.`);
  });
}
