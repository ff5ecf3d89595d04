import type { Keyring } from "./keys/keyring.ts";
import type { Login, LoginState } from "./login.ts";

export type LoginViewProps = {
  readonly login: Login;
  readonly keyring: Keyring;
  readonly state: Extract<LoginState, { readonly kind: "out" }>;
};

/** The view of the card: the login, or a key view that leads back to it. */
export type Step = "login" | "make" | "import" | "sheet";

/** The properties of each login method. */
export type WayProps = {
  readonly login: Login;
  readonly user: {
    readonly name: string;
    /** The user for logins without a name, if known. */
    readonly default: string | undefined;
    readonly onName: (name: string) => void;
  };
};
