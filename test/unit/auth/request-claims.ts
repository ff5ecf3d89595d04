import type { RequestClaims } from "../../../src/auth/chain.ts";

/** A request without any proof. */
export const BARE: RequestClaims = {
  authorization: undefined,
  queryToken: undefined,
  address: "10.0.0.1",
  peer: "10.0.0.1",
  host: "term.example.com",
  isForwarded: false,
  localToken: undefined,
  identity: undefined,
  identityProof: undefined,
  onBehalfOf: undefined,
  caller: undefined,
  place: "api",
};
