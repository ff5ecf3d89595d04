// The messages between the server and its account workers.
import { z } from "zod";
import { LoginPrompt } from "../../protocol/schemas/login-question.ts";

export const Question = z.discriminatedUnion("kind", [
  /** Who has that name, and may they log in? */
  z.object({ kind: z.literal("account"), name: z.string() }),
  /** Of which groups is the account a member? */
  z.object({ kind: z.literal("groups"), name: z.string() }),
  /** Does the account have no password, so that PAM's `nullok` lets anybody in? */
  z.object({ kind: z.literal("blank-password"), name: z.string() }),
  /** Begins a login at PAM, under a number of the server's. */
  z.object({
    kind: z.literal("pam-begin"),
    login: z.int(),
    username: z.string(),
    address: z.string().optional(),
  }),
  /** Answers what PAM has asked in that login. */
  z.object({ kind: z.literal("pam-answers"), login: z.int(), answers: z.array(z.string()) }),
  /** Gives that login up. */
  z.object({ kind: z.literal("pam-end"), login: z.int() }),
  /** The files of authorized keys below a home; `user` absent: the server's own user, whose home is not that of passwd. */
  z.object({
    kind: z.literal("keys"),
    home: z.string(),
    user: z.object({ name: z.string(), uid: z.int(), gid: z.int() }).optional(),
  }),
  z.object({ kind: z.literal("picture"), user: z.string() }),
]);
export type Question = z.infer<typeof Question>;

export const Request = z.object({ number: z.int(), question: Question });
export type Request = z.infer<typeof Request>;

export const Reply = z.object({
  /** That of the request. */
  number: z.int(),
  answer: z.unknown().optional(),
  /** Why there is no answer. */
  error: z.string().optional(),
});
export type Reply = z.infer<typeof Reply>;

/** What PAM does next: it asks, with what it says beside that, or is done and has a code. */
export const PamStep = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("question"),
    prompts: z.array(LoginPrompt),
    messages: z.array(z.string()),
  }),
  z.object({ kind: z.literal("done"), code: z.int() }),
]);
export type PamStep = z.infer<typeof PamStep>;

/** `account` is absent where nobody has that name; `refusal` says why the account may not log in. */
export const AccountStatus = z.object({
  account: z
    .object({ name: z.string(), uid: z.int(), gid: z.int(), home: z.string(), shell: z.string() })
    .optional(),
  refusal: z.string().optional(),
});
export type AccountStatus = z.infer<typeof AccountStatus>;

/** One file of authorized keys: its content in base64, or why it does not count. Files that do not exist are left out. */
export const KeyFiles = z.array(z.object({ content: z.string().optional(), refusal: z.string().optional() }));
export type KeyFiles = z.infer<typeof KeyFiles>;

/** A picture in base64; `source` is the attribute of the directory that it comes from. */
export const Avatar = z.object({
  type: z.enum(["image/jpeg", "image/png"]),
  content: z.string(),
  source: z.enum(["dscl", "picture_path"]),
});
