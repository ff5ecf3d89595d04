/** How a machine joins this HQ. */
export type JoinCommand = {
  /** One line for each option, ended as a shell wants it. */
  readonly text: string;
  /** What has to be put in, or known before it is run; whole sentences. */
  readonly hints: readonly string[];
};

/** `origin`: where this page comes from. `isOpen`: nobody proves anything to this HQ. */
export function joinCommand({
  origin,
  isOpen,
}: {
  readonly origin: string;
  readonly isOpen: boolean;
}): JoinCommand {
  const { protocol, hostname } = new URL(origin);
  const isPlain = protocol === "http:";
  const options = [
    `ttyhq serve --hq-url ${origin}`,
    ...(isPlain ? ["--allow-insecure-hq"] : []),
    ...(isOpen ? ["--no-hq-auth"] : ["--name NAME", "--join-token-file FILE"]),
  ];
  const hints = [
    ...(isOpen
      ? []
      : [
          "FILE has what `ttyhq join-token create --name NAME` prints at the HQ; it works once, for 15 minutes.",
        ]),
    ...(isLoopback(hostname) ? [`Another machine needs a name for this one instead of ${hostname}.`] : []),
    ...(isPlain ? ["This HQ has no certificate: the network connection is not encrypted."] : []),
  ];
  return { text: options.join(" \\\n  "), hints };
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
