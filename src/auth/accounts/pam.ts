// The one door to node-linux-pam, which asks PAM pam_authenticate(3) and pam_acct_mgmt(3): whether that is the user's
// password, and whether the account may be used now. It answers every question of PAM's with the password, so stacks
// that ask for more than one thing let nobody in. It keeps a thread of libuv's pool for as long as PAM takes.
import { createRequire } from "node:module";

/** The file in /etc/pam.d that says what PAM does for us; where there is none, PAM takes the one called "other". */
export const PAM_SERVICE = "ttyhq";

/** What of PAM's codes is told apart here (_pam_types.h). */
export const PamCode = {
  success: 0,
  permissionDenied: 6,
  wrongPassword: 7,
  unknownUser: 10,
  tooManyTries: 11,
  passwordExpired: 12,
  accountExpired: 13,
} as const;

/** Resolves with PAM's code; `address` is the client's. */
export type PamCheck = (question: {
  readonly username: string;
  readonly password: string;
  readonly address?: string | undefined;
}) => Promise<number>;

type NodeLinuxPam = {
  pamAuthenticate(
    options: {
      readonly username: string;
      readonly password: string;
      readonly serviceName: string;
      readonly remoteHost?: string;
    },
    callback: (error: unknown, code: number) => void,
  ): void;
};

/** Throws where the package is not installed, was not built, or finds no PAM on this machine. */
export function loadPam(): PamCheck {
  const require = createRequire(import.meta.url);
  const { pamAuthenticate }: NodeLinuxPam = require("node-linux-pam");
  return ({ username, password, address }) => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const remoteHost = address === undefined ? {} : { remoteHost: address };
    pamAuthenticate({ username, password, serviceName: PAM_SERVICE, ...remoteHost }, (_, code) =>
      resolve(code),
    );
    return promise;
  };
}
