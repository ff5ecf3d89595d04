export const ED25519_KIND = "ssh-ed25519";

const KINDS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/-cert-v\d/, "a certificate"],
  [/^sk-/, "a key that is stored on a security key"],
  [/^ssh-rsa$/, "an RSA key"],
  [/^ssh-dss$/, "a DSA key"],
  [/^ssh-ed448$/, "an Ed448 key"],
  [/^ecdsa-/, "an ECDSA key"],
];

/** The kind of a key by SSH's name, with its article; undefined for Ed25519. */
export function sshKeyKind(name: string): string | undefined {
  if (name === ED25519_KIND) return undefined;
  return KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? "a key of another kind";
}
