// Tokens and keys: API tokens for programs, join tokens and keys for the remotes of an HQ.
import { span } from "../../config/options/span.ts";
import { remoteNamePattern } from "../../config/options/value.ts";
import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ApiTokenName, type ApiTokenRecord } from "../../protocol/schemas/login.ts";
import { TokenScope } from "../../protocol/schemas/permission.ts";
import { type AddCommand, command, group, REQUIRED } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { query } from "../query.ts";
import { SERVER_FLAGS, serverOf } from "../server.ts";
import { duration, printable, table } from "../text.ts";

const CREATE = {
  usage: "create",
  who: "server",
  summary: "create a token and print it",
  text: ({ token }: { readonly token: string }) => `${token}\n`,
} as const;
const LIST = { usage: "list", who: "server", json: "print them as a JSON array" } as const;

export const addToken = group(
  "token",
  {
    summary: "create, list and revoke API tokens for programs",
    description: "API tokens: each lets a program do part of what its user may do, until it expires.",
    examples: [
      ["ttyhq token create --name ci --scope sessions:view,sessions:create --ttl 30d", "and print it"],
      ["TTYHQ_TOKEN=... ttyhq ls --url https://term.example.com", "use it elsewhere"],
      ["ttyhq token revoke ci", "it stops working at once"],
    ],
  },
  [
    query({
      ...CREATE,
      description:
        "Create and print an API token of yours, at a local server of the server's own user. It cannot be shown again.",
      json: "print the token with its id, scope and expiry as JSON",
      flags: {
        name: ["--name <name>", "its name, for list and revoke", tokenName, REQUIRED],
        scope: ["--scope <list>", `its permissions, of ${TokenScope.options.join(", ")}`, scopeOf, REQUIRED],
        ttl: ["--ttl <time>", "its lifetime, such as 30d", span("1s", "365d", "30d"), REQUIRED],
      },
      ask: ({ client }, { name, scope, ttl }) =>
        client.call(endpoints.createApiToken, { body: { name, scope: [...scope], expiresIn: ttl / 1_000 } }),
    }),
    query({
      ...LIST,
      summary: "list your valid tokens",
      flags: { all: ["--all", "the tokens of all users, for admins"] },
      ask: ({ client }, { all }) => tokensOf(client, all),
      text: tokenTable,
    }),
    revocation({
      usage: "revoke <name...>",
      names: "names of your tokens, or ids of anyone's",
      summary: "revoke tokens and close their connections",
      revoke: async (client, name) => {
        const tokenId = (await tokensOf(client)).find((token) => token.name === name)?.id ?? name;
        const { user } = await client.call(endpoints.revokeApiToken, { params: { tokenId } });
        return { id: tokenId, user };
      },
    }),
  ],
);

export const addJoinToken = group(
  "join-token",
  {
    summary: "create, list and revoke tokens with which remotes join this HQ",
    description: "Tokens with which remotes join this HQ: each enrolls the key of a remote.",
    examples: [
      ["ttyhq join-token create --name build-1", "for one machine, within 15 minutes"],
      ["ttyhq join-token create --name 'build-*' --reusable --ttl 30d", "for all machines with such a name"],
    ],
  },
  [
    query({
      ...CREATE,
      description:
        "Create and print a token with which a remote of that name joins this HQ. It works once and cannot be shown again.",
      json: "print the token with its id, name and expiry as JSON",
      flags: {
        name: [
          "--name <name>",
          "name of the remote, or a pattern such as build-*",
          remoteNamePattern,
          REQUIRED,
        ],
        ttl: ["--ttl <time>", "its lifetime, such as 15m or 30d", span("1s", "365d", "15m"), "15m"],
        reusable: ["--reusable", "let any number of remotes join with it until it expires"],
      },
      ask: ({ client }, { name, ttl, reusable = false }) =>
        client.call(endpoints.createJoinToken, { body: { name, expiresIn: ttl / 1_000, reusable } }),
    }),
    query({
      ...LIST,
      summary: "list the valid tokens",
      ask: ({ client }) => client.call(endpoints.listJoinTokens),
      text: (tokens, _, cli) => {
        const rows = tokens.map(({ id, name, reusable, expiresAt, createdBy = "" }) => [
          ...[id, name, reusable ? "yes" : "no", createdBy],
          expiresAt === undefined ? "never" : duration((Date.parse(expiresAt) - Date.now()) / 1000),
        ]);
        return table(["ID", "NAME", "REUSABLE", "CREATED BY", "EXPIRES IN"], rows, cli.stdout.columns);
      },
    }),
    revocation({
      usage: "revoke <id...>",
      names: "ids, as `ttyhq join-token list` prints them",
      summary: "revoke tokens; remotes that have joined stay",
      revoke: (client, tokenId) => client.call(endpoints.revokeJoinToken, { params: { tokenId } }),
    }),
  ],
);

export const addRemoteKey = group(
  "remote-key",
  {
    summary: "list and revoke the keys of this HQ's remotes",
    description: "Keys with which remotes authenticate to this HQ.",
    examples: [["ttyhq remote-key revoke build-1", "it leaves at once, until it joins with a new token"]],
  },
  [
    query({
      ...LIST,
      summary: "list the keys",
      ask: ({ client }) => client.call(endpoints.listRemoteKeys),
      text: (keys, _, cli) => {
        const rows = keys.map((key) => [key.name, key.remoteId, key.enrolledAt, key.joinToken]);
        return table(["NAME", "REMOTE ID", "ENROLLED", "JOIN TOKEN"], rows, cli.stdout.columns);
      },
    }),
    revocation({
      usage: "revoke <name...>",
      names: "names of remotes",
      summary: "revoke keys: their remotes need a new join token",
      subject: "key of ",
      revoke: (client, name) => client.call(endpoints.revokeRemoteKey, { params: { name } }),
    }),
  ],
);

type Revocation = {
  readonly usage: string;
  readonly names: string;
  readonly summary: string;
  readonly subject?: string;
  readonly revoke: (client: Client, name: string) => Promise<unknown>;
};

/** Reports those that are revoked even if a later one fails. */
function revocation({ usage, names, summary, subject = "", revoke }: Revocation): AddCommand {
  return command({
    ...{ usage, summary, description: `Revoke: ${names}.` },
    flags: { json: ["--json", "print the revoked ones as a JSON array"], ...SERVER_FLAGS },
    run: async ({ json, ...flags }, given, cli) => {
      const { client } = await serverOf(flags, cli, "server");
      const revoked: unknown[] = [];
      try {
        for (const name of given) {
          revoked.push(await revoke(client, name));
          if (!json) cli.stdout.write(`${subject}${printable(name)} revoked\n`);
        }
      } finally {
        if (json) cli.stdout.write(`${JSON.stringify(revoked)}\n`);
      }
    },
  });
}

async function tokensOf(client: Client, isAll?: boolean): Promise<readonly ApiTokenRecord[]> {
  return await client.call(endpoints.listApiTokens, { query: isAll ? { all: "1" } : {} });
}

function tokenTable(tokens: readonly ApiTokenRecord[], _: unknown, cli: Cli): string {
  const rows = tokens.map(({ id, name, user, scope, lastUsedAt, expiresAt }) => [
    ...[name, user, scope.join(",")],
    lastUsedAt === undefined ? "never" : `${duration((Date.now() - Date.parse(lastUsedAt)) / 1000)} ago`,
    ...[duration((Date.parse(expiresAt) - Date.now()) / 1000), id],
  ]);
  return table(["NAME", "USER", "SCOPE", "LAST USED", "EXPIRES IN", "ID"], rows, cli.stdout.columns);
}

function scopeOf(text: string): readonly TokenScope[] {
  return text.split(",").map((part) => {
    const permission = TokenScope.safeParse(part.trim());
    if (permission.success) return permission.data;
    throw new RangeError(`must be one or several of ${TokenScope.options.join(", ")}`);
  });
}

function tokenName(text: string): string {
  const name = ApiTokenName.safeParse(text);
  if (name.success) return name.data;
  throw new RangeError(`must be ${name.error.issues[0]?.message}`);
}
