import type { Keyring } from "./keys/keyring.ts";
import type { Login, LoginState } from "./login.ts";

export type LoginViewProps = {
  readonly login: Login;
  readonly keyring: Keyring;
  readonly state: Extract<LoginState, { readonly kind: "out" }>;
};

/** What the card shows: the log in, or something about keys that leads back to it. */
export type Step = "login" | "make" | "import" | "sheet";

/** What each way to log in needs. */
export type WayProps = {
  readonly login: Login;
  readonly user: {
    readonly name: string;
    /** Who logs in without a name, where that is known. */
    readonly default: string | undefined;
    readonly onName: (name: string) => void;
  };
};
