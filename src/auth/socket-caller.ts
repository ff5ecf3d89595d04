import { z } from "zod";
import { ServiceError } from "../protocol/errors.ts";
import type { Authenticator } from "./chain.ts";
import { ALL, OWN } from "./roles.ts";

const Caller = z.object({
  user: z.string(),
  owner: z.string().optional(),
  account: z.string().optional(),
  seesAll: z.boolean(),
});

/**
 * On a session host, whose socket only its own user can open: a server asks for one of its users, whom the header names.
 * Says nothing about requests without it.
 */
export const bySocketCaller: Authenticator = async ({ caller }) => {
  if (caller === undefined) return undefined;
  const { data } = Caller.safeParse(parsed(caller));
  if (data === undefined) throw new ServiceError("unauthorized", "the header ttyhq-caller is malformed");
  const { user, owner, account, seesAll } = data;
  return { user, method: "socket", rights: seesAll ? ALL : OWN, owner, account };
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(decodeURIComponent(text));
  } catch {
    return undefined;
  }
}
