import type { Command } from "commander";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { MAX_JOIN_TOKEN_LIFETIME_S } from "../../../protocol/limits.ts";
import { type JoinTokenRecord, RemoteNamePattern } from "../../../protocol/schemas/join.ts";
import { duration } from "../../duration.ts";
import { examples } from "../../examples.ts";
import { printable } from "../../printable.ts";
import type { Cli } from "../../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../../server.ts";
import { table } from "../../table.ts";
import { argumentOf, lifetimeUpTo } from "./token-arguments.ts";

type JsonFlags = ServerFlags & { readonly json?: true };
type CreateFlags = JsonFlags & { readonly name: string; readonly ttl: number; readonly reusable?: boolean };

/** At an HQ: tokens with which remotes enroll their keys. */
export function addJoinToken(program: Command, cli: Cli): void {
  const group = program
    .command("join-token")
    .summary("make, list and revoke tokens with which remotes join this HQ")
    .description("Tokens with which remotes join this HQ: each enrolls the key of a remote.");
  addCreate(group, cli);
  addList(group, cli);
  addRevoke(group, cli);
  group.addHelpText(
    "after",
    examples(
      ["ttyhq join-token create --name build-1", "for one machine, within 15 minutes"],
      ["ttyhq join-token create --name 'build-*' --reusable --ttl 30d", "for all machines of such a name"],
    ),
  );
}

function addCreate(group: Command, cli: Cli): void {
  const create = group
    .command("create")
    .summary("make a token and print it")
    .description(
      "Make a token with which a remote of that name joins this HQ, and print it. It works once. It cannot be shown again.",
    )
    .requiredOption(
      "--name <name>",
      "name of the remote, or a pattern such as build-*",
      argumentOf(RemoteNamePattern),
    )
    .option(
      "--ttl <time>",
      "how long it works, such as 15m or 30d",
      lifetimeUpTo(MAX_JOIN_TOKEN_LIFETIME_S, "15m"),
      900,
    )
    .option("--reusable", "it works for any number of remotes until it expires")
    .option("--json", "print the token with its id, name and expiry as JSON")
    .allowExcessArguments(false)
    .action(async ({ name, ttl, reusable = false, ...flags }: CreateFlags) => {
      const body = { name, expiresIn: ttl, reusable };
      const made = await serverOf(flags, cli, "server").client.call(endpoints.createJoinToken, { body });
      cli.stdout.write(flags.json ? `${JSON.stringify(made)}\n` : `${made.token}\n`);
    });
  addServerOptions(create);
}

function addList(group: Command, cli: Cli): void {
  const list = group
    .command("list")
    .summary("list the tokens that work")
    .option("--json", "print them as a JSON array")
    .allowExcessArguments(false)
    .action(async (flags: JsonFlags) => {
      const tokens = await serverOf(flags, cli, "server").client.call(endpoints.listJoinTokens);
      const text = flags.json ? `${JSON.stringify(tokens, undefined, 2)}\n` : tokenTable(tokens, cli);
      cli.stdout.write(text);
    });
  addServerOptions(list);
}

function addRevoke(group: Command, cli: Cli): void {
  const revoke = group
    .command("revoke")
    .summary("end tokens; remotes that have joined stay")
    .argument("<id...>", "ids, as `ttyhq join-token list` prints them")
    .action(async (ids: readonly string[], flags: ServerFlags) => {
      const { client } = serverOf(flags, cli, "server");
      for (const tokenId of ids) {
        await client.call(endpoints.revokeJoinToken, { params: { tokenId } });
        cli.stdout.write(`${printable(tokenId)} revoked\n`);
      }
    });
  addServerOptions(revoke);
}

/** At an HQ: the keys of the remotes that have joined with a token. */
export function addRemoteKey(program: Command, cli: Cli): void {
  const group = program
    .command("remote-key")
    .summary("list and revoke the keys of this HQ's remotes")
    .description("Keys with which remotes prove themselves to this HQ.");
  const list = group
    .command("list")
    .summary("list the keys")
    .option("--json", "print them as a JSON array")
    .allowExcessArguments(false)
    .action(async (flags: JsonFlags) => {
      const keys = await serverOf(flags, cli, "server").client.call(endpoints.listRemoteKeys);
      const rows = keys.map((key) => [key.name, key.remoteId, key.enrolledAt, key.joinToken]);
      const text = table(["NAME", "REMOTE ID", "ENROLLED", "JOIN TOKEN"], rows, cli.stdout.columns);
      cli.stdout.write(flags.json ? `${JSON.stringify(keys, undefined, 2)}\n` : text);
    });
  addServerOptions(list);
  const revoke = group
    .command("revoke")
    .summary("end keys: such a remote needs a new join token")
    .argument("<name...>", "names of remotes")
    .action(async (names: readonly string[], flags: ServerFlags) => {
      const { client } = serverOf(flags, cli, "server");
      for (const name of names) {
        await client.call(endpoints.revokeRemoteKey, { params: { name } });
        cli.stdout.write(`key of ${printable(name)} revoked\n`);
      }
    });
  addServerOptions(revoke);
  group.addHelpText(
    "after",
    examples(["ttyhq remote-key revoke build-1", "it is out at once, until it joins with a new token"]),
  );
}

function tokenTable(tokens: readonly JoinTokenRecord[], cli: Cli): string {
  const rows = tokens.map(({ id, name, reusable, expiresAt, createdBy = "" }) => [
    ...[id, name, reusable ? "yes" : "no", printable(createdBy)],
    expiresAt === undefined ? "never" : duration((Date.parse(expiresAt) - Date.now()) / 1000),
  ]);
  return table(["ID", "NAME", "REUSABLE", "CREATED BY", "EXPIRES IN"], rows, cli.stdout.columns);
}
