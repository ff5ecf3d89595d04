// The messages between a server and its account workers.
import { z } from "zod";
import { LoginPrompt } from "../../protocol/schemas/login-question.ts";

export const Question = z.discriminatedUnion("kind", [
  /** Looks up an account, and whether it may log in. */
  z.object({ kind: z.literal("account"), name: z.string() }),
  z.object({ kind: z.literal("groups"), name: z.string() }),
  /** Whether the account has no password, so that PAM's `nullok` would admit anyone. */
  z.object({ kind: z.literal("blank-password"), name: z.string() }),
  /** Starts a login at PAM; the server chooses the number. */
  z.object({
    kind: z.literal("pam-begin"),
    login: z.int(),
    username: z.string(),
    address: z.string().optional(),
  }),
  z.object({ kind: z.literal("pam-answers"), login: z.int(), answers: z.array(z.string()) }),
  z.object({ kind: z.literal("pam-end"), login: z.int() }),
  /**
   * The authorized_keys files below a home; without `user` as the server's own user, whose home may differ from
   * passwd.
   */
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
  number: z.int(),
  answer: z.unknown().optional(),
  error: z.string().optional(),
});
export type Reply = z.infer<typeof Reply>;

/** PAM's next step: questions with messages, or the final code. */
export const PamStep = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("question"),
    prompts: z.array(LoginPrompt),
    messages: z.array(z.string()),
  }),
  z.object({ kind: z.literal("done"), code: z.int() }),
]);
export type PamStep = z.infer<typeof PamStep>;

/** Without `account`: no such user. `refusal`: why the account may not log in. */
export const AccountStatus = z.object({
  account: z
    .object({ name: z.string(), uid: z.int(), gid: z.int(), home: z.string(), shell: z.string() })
    .optional(),
  refusal: z.string().optional(),
});
export type AccountStatus = z.infer<typeof AccountStatus>;

/** The content in base64, or the reason why the file does not count. Missing files are left out. */
export const KeyFiles = z.array(z.object({ content: z.string().optional(), refusal: z.string().optional() }));
export type KeyFiles = z.infer<typeof KeyFiles>;

/** `content` in base64; `source`: the directory's attribute. */
export const Avatar = z.object({
  type: z.enum(["image/jpeg", "image/png"]),
  content: z.string(),
  source: z.enum(["dscl", "picture_path"]),
});
