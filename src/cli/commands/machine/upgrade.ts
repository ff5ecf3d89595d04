import { z } from "zod";
import type { Client } from "../../../protocol/client/client.ts";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../../protocol/errors.ts";
import { ExitCode } from "../../command.ts";
import type { Cli } from "../../process-context.ts";
import { query } from "../../query.ts";
import { clientAt, isNotListening, localSockets, type Server } from "../../server.ts";
import { printable, table } from "../../text.ts";

/** `protocol` is absent in programs that implement only the specification. */
const AnyHealth = z.looseObject({
  version: z.string(),
  protocol: z.int().optional().catch(undefined),
  mode: z.string().optional().catch(undefined),
});
const health = { ...endpoints.health, reply: { status: 200, json: AnyHealth } } as const;
const healthOfRemote = { ...health, path: "/api/remotes/:name/proxy/api/health" } as const;

/** A process, and the peer that it must work with. */
export type Part = {
  readonly name: string;
  /** `undefined`: it does not answer. */
  readonly version: string | undefined;
  /** `undefined`: of a program that implements only the specification. */
  readonly protocol?: number | undefined;
  readonly peer?: { readonly name: string; readonly version: string; readonly protocol?: number | undefined };
  /** Whether both need the same revision of the protocol; otherwise they may be at most one minor version apart. */
  readonly isBound?: boolean;
};

export type Verdict = {
  readonly name: string;
  readonly version: string | undefined;
  readonly status: "current" | "behind" | "incompatible" | "unreachable" | "foreign";
  readonly explanation: string;
};

export const addUpgrade = query({
  usage: "upgrade",
  summary: "check that the versions of servers, HQ and remotes work together",
  description:
    "With --check: show the versions of this command, the server, its session host and the remotes of an HQ, whether they work together, and which to update in which order. The exit code is 1 if any do not. Nothing but these servers is asked, and nothing is changed.",
  examples: [
    ["ttyhq upgrade --check", "this machine"],
    ["ttyhq upgrade --check --url https://hq.example.com", "an HQ with its remotes"],
  ],
  flags: { check: ["--check", "only check; ttyhq does not update itself"] },
  json: 'print {"parts", "order"}',
  who: "server",
  ask: async (server, { check }, _, cli) => {
    if (check) return examined(await partsOf(server, cli));
    throw new ServiceError(
      "invalid_request",
      "give --check: ttyhq does not update itself, its package or image does (docs/upgrading.md)",
    );
  },
  text: ({ parts, order }, _, cli) => {
    const rows = parts.map((part) => [part.name, part.version ?? "?", part.explanation]);
    const steps = order.map((name, index) => `  ${index + 1}. ${printable(name)}\n`).join("");
    const headings = ["PROCESS", "VERSION", "RESULT"];
    return `${table(headings, rows, cli.stdout.columns)}${steps === "" ? "" : `\nUpdate in this order:\n${steps}`}`;
  },
  exitCode: ({ parts }) => {
    const isBad = parts.some(({ status }) => status === "incompatible" || status === "unreachable");
    return isBad ? ExitCode.Failed : ExitCode.Ok;
  },
});

async function partsOf({ client, controlDir }: Server, cli: Cli): Promise<readonly Part[]> {
  const own = await client.call(health);
  const title = own.mode === "hq" ? "HQ" : "server";
  const peer = { name: title, version: own.version, protocol: own.protocol };
  const hosts = controlDir === undefined ? [] : await hostOf(clientAt(localSockets(controlDir).host));
  const remotes = own.mode === "hq" ? await remotesOf(client) : [];
  return [
    ...remotes.map((remote) => ({ ...remote, peer })),
    { ...own, name: title },
    ...hosts.map((host) => ({ ...host, peer, isBound: true })),
    { name: "this command", version: cli.version, protocol: own.protocol, peer },
  ];
}

/** An HQ without sessions of its own has none. */
async function hostOf(client: Client): Promise<readonly Part[]> {
  const name = "session host";
  try {
    return [{ ...(await client.call(health)), name }];
  } catch (error) {
    return isNotListening(error) ? [] : [{ name, version: undefined }];
  }
}

async function remotesOf(client: Client): Promise<readonly Part[]> {
  const remotes = await client.call(endpoints.listRemotes);
  return await Promise.all(
    remotes.map(async ({ name }): Promise<Part> => {
      const found = await client.call(healthOfRemote, { params: { name } }).catch(() => undefined);
      return { name: `remote ${name}`, version: found?.version, protocol: found?.protocol };
    }),
  );
}

/** The rules of docs/upgrading.md: HQ, remotes and command at most one minor version apart, a session host of the same protocol. */
export function examined(parts: readonly Part[]): {
  readonly parts: readonly Verdict[];
  /** Names of the parts behind the newest version, the oldest first; equal ones in the order of the parts. */
  readonly order: readonly string[];
} {
  const ours = parts.flatMap(({ version, protocol }) => (protocol === undefined ? [] : (version ?? [])));
  const newest = ours.toSorted(byVersion).at(-1) ?? "";
  const verdicts = parts.map((part) => {
    const [status, explanation] = verdictOf(part, newest);
    return { name: part.name, version: part.version, status, explanation };
  });
  const behind = verdicts
    .filter(({ status, version = newest }) => status !== "foreign" && byVersion(version, newest) < 0)
    .toSorted((one, other) => byVersion(one.version ?? "", other.version ?? ""));
  return { parts: verdicts, order: behind.map(({ name }) => name) };
}

function verdictOf(
  { version, protocol, peer, isBound = false }: Part,
  newest: string,
): readonly [Verdict["status"], explanation: string] {
  if (version === undefined) return ["unreachable", "does not answer"];
  if (protocol === undefined) return ["foreign", "another program, which implements the specification"];
  if (peer !== undefined && isBound && protocol !== peer.protocol) {
    return ["incompatible", `revision ${protocol} of the protocol, the ${peer.name} has ${peer.protocol}`];
  }
  if (peer !== undefined && !isBound && minorsApart(version, peer.version) > 1) {
    return ["incompatible", `more than one minor version from the ${peer.name}; update minor by minor`];
  }
  if (byVersion(version, newest) === 0) return ["current", "works"];
  const hint = isBound ? "restart it when its sessions have ended" : `update it to ${newest}`;
  return ["behind", `works; ${hint}`];
}

function numbersOf(version: string): readonly [number, number, number] {
  const [, major = "0", minor = "0", patch = "0"] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  return [Number(major), Number(minor), Number(patch)];
}

function byVersion(one: string, other: string): number {
  const [a, b] = [numbersOf(one), numbersOf(other)];
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function minorsApart(one: string, other: string): number {
  const [a, b] = [numbersOf(one), numbersOf(other)];
  return a[0] === b[0] ? Math.abs(a[1] - b[1]) : Number.POSITIVE_INFINITY;
}
