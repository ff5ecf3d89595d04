import { z } from "zod";
import {
  CreateEnrolmentCode,
  EnrolmentCode,
  NewPasskey,
  PasskeyList,
  PasskeyMade,
  PasskeyOptions,
  RecoveryCodes,
  SecondFactorProof,
  SecondFactorResponse,
} from "../schemas/passkey.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const own = { tag: "auth", access: "user", limit: "api", host: false } as const;

export const passkeyEndpoints = {
  secondFactor: {
    ...{ tag: "auth", access: "open", limit: "api", host: false },
    method: "post",
    path: "/api/auth/second-factor",
    summary: "Complete a login that a password alone was not enough for",
    body: SecondFactorProof,
    reply: { status: 200, json: SecondFactorResponse },
    errors: ["invalid_credentials", "unauthorized", "rate_limited"],
  },
  listPasskeys: {
    ...own,
    method: "get",
    path: "/api/auth/passkeys",
    summary: "Your passkeys",
    reply: { status: 200, json: PasskeyList },
    errors: ["forbidden"],
  },
  passkeyOptions: {
    ...own,
    method: "post",
    path: "/api/auth/passkeys/options",
    summary: "What a browser needs to make a passkey",
    reply: { status: 200, json: PasskeyOptions },
    errors: ["forbidden", "invalid_request"],
  },
  createPasskey: {
    ...own,
    method: "post",
    path: "/api/auth/passkeys",
    summary: "Add a passkey; with the first come recovery codes",
    body: NewPasskey,
    reply: { status: 201, json: PasskeyMade },
    errors: ["forbidden", "invalid_credentials", "unauthorized", "too_many_passkeys"],
  },
  removePasskey: {
    ...own,
    method: "delete",
    path: "/api/auth/passkeys/:passkeyId",
    summary: "Remove a passkey; without any the password is enough, unless the server asks for more",
    params: z.object({ passkeyId: z.string() }),
    reply: { status: 200, json: Success },
    errors: ["forbidden", "passkey_not_found"],
  },
  createRecoveryCodes: {
    ...own,
    method: "post",
    path: "/api/auth/recovery-codes",
    summary: "New recovery codes; the old ones end",
    reply: { status: 200, json: RecoveryCodes },
    errors: ["forbidden", "passkey_not_found"],
  },
  createEnrolmentCode: {
    ...own,
    method: "post",
    path: "/api/auth/enrolment-codes",
    summary: "A code with which a user makes a passkey at the next login with a password",
    body: CreateEnrolmentCode,
    reply: { status: 201, json: EnrolmentCode },
    errors: ["forbidden", "invalid_request"],
  },
} as const satisfies Record<string, Endpoint>;
