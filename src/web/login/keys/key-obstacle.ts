/**
 * Why a page that came from there cannot work with keys, as whole sentences. Browsers keep their cryptography from pages
 * that could have been changed on the way.
 */
export function insecureWords({ hostname, port }: Pick<Location, "hostname" | "port">): string {
  const local = port === "" ? "80" : port;
  return [
    "This page was loaded over an unencrypted connection. Browsers do not allow such pages to use keys.",
    "Open it by https:// if the server has a certificate (ttyhq serve --tls-cert FILE --tls-key FILE).",
    `Or run ssh -L ${local}:localhost:${local} ${hostname} and open http://localhost:${local} instead.`,
  ].join(" ");
}
