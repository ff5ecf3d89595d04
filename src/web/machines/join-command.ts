import type { NewJoinToken } from "../../protocol/schemas/join.ts";

/** How a machine joins this HQ. */
export type JoinCommand = {
  /** Shell lines, one option each. */
  readonly text: string;
  /** Placeholders to fill in and facts to know first; whole sentences. */
  readonly hints: readonly string[];
};

type JoinRequest = {
  /** The page's origin. */
  readonly origin: string;
  /** The HQ accepts machines without credentials. */
  readonly isOpen: boolean;
  /** The machine's credentials; without them, placeholders. */
  readonly token?: Pick<NewJoinToken, "name" | "token">;
};

export function joinCommand({ origin, isOpen, token }: JoinRequest): JoinCommand {
  const { protocol, hostname } = new URL(origin);
  const isPlain = protocol === "http:";
  const proof =
    token === undefined ? ["--name NAME", "--join-token-file FILE"] : [`--name ${shellName(token.name)}`];
  const options = [
    // Other users of a machine can see the arguments of a process, but not its environment.
    `${token === undefined ? "" : `TTYHQ_JOIN_TOKEN=${token.token} `}ttyhq serve --hq-url ${origin}`,
    ...(isPlain ? ["--allow-insecure-hq"] : []),
    ...(isOpen ? ["--no-hq-auth"] : proof),
  ];
  const hints = [
    ...(isOpen || token !== undefined
      ? []
      : [
          "FILE has what `ttyhq join-token create --name NAME` prints at the HQ; it works once, for 15 minutes.",
        ]),
    ...(isLoopback(hostname) ? [`Another machine needs a name for this one instead of ${hostname}.`] : []),
    ...(isPlain ? ["This HQ has no certificate: the network connection is not encrypted."] : []),
  ];
  return { text: options.join(token === undefined ? " \\\n  " : " "), hints };
}

/** A pattern's star stands for the machine's own name. */
function shellName(pattern: string): string {
  return pattern.includes("*") ? `"${pattern.replace("*", "$(hostname -s)").replaceAll("*", "")}"` : pattern;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
