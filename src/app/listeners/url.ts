/** Where a listener is found. An address that stands for all of a machine is reached by the machine's name. */
export function urlOf(
  { listen, tls }: { readonly listen: { readonly host: string }; readonly tls: object | undefined },
  machine: string,
  port: number,
): string {
  const isEverywhere = listen.host === "0.0.0.0" || listen.host === "::";
  const host = isEverywhere ? machine : listen.host;
  return `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
