import type { Signal } from "@preact/signals";
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

export type Way = "password" | "key";

/** A person's choices and input on the login card; they survive a visit to the key views. */
export type LoginDraft = {
  /** Undefined until a method was chosen. */
  readonly way: Signal<Way | undefined>;
  /** The public key of the key for the login; undefined until one was chosen. */
  readonly key: Signal<string | undefined>;
  /** Undefined until a name was typed. */
  readonly user: Signal<string | undefined>;
};
