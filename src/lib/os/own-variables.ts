/** Environment variables that configure this program or hold its secrets: not passed on to programs. */
const OWN = /^(?:TTYHQ_.*|SERVICE_(?:USERNAME|PASSWORD)(?:_FILE)?)$/;

export function isOwnVariable(name: string): boolean {
  return OWN.test(name);
}
