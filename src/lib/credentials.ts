import type { Secret } from "./secret.ts";

/** A user name and its password. */
export type Credentials = { readonly username: string; readonly password: Secret };
