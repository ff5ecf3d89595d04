// The calls of a server to its account workers.
import { z } from "zod";
import { event, method } from "../../lib/async/rpc.ts";
import { LoginPrompt } from "../../protocol/schemas/login-question.ts";

/** PAM's next step: questions with messages, or the final code. */
const PamStep = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("question"),
    prompts: z.array(LoginPrompt),
    messages: z.array(z.string()),
  }),
  z.object({ kind: z.literal("done"), code: z.int() }),
]);
export type PamStep = z.infer<typeof PamStep>;

/** `address`: the client's, for PAM's rules and log. */
const PamUser = z.object({ username: z.string(), address: z.string().optional() });
export type PamUser = z.infer<typeof PamUser>;

/** Without `account`: no such user. `refusal`: why the account may not log in. */
const AccountStatus = z.object({
  account: z
    .object({ name: z.string(), uid: z.int(), gid: z.int(), home: z.string(), shell: z.string() })
    .optional(),
  refusal: z.string().optional(),
});
export type AccountStatus = z.infer<typeof AccountStatus>;

/** Without `user`: the server's own user, whose home may differ from passwd. */
const KeyOwner = z.object({
  home: z.string(),
  user: z.object({ name: z.string(), uid: z.int(), gid: z.int() }).optional(),
});
export type KeyOwner = z.infer<typeof KeyOwner>;

/** The content in base64, or the reason why the file does not count. Missing files are left out. */
const KeyFiles = z.array(z.object({ content: z.string().optional(), refusal: z.string().optional() }));
export type KeyFiles = z.infer<typeof KeyFiles>;

/** `content` in base64; `source`: the attribute of the directory with the picture. */
const Avatar = z.object({
  type: z.enum(["image/jpeg", "image/png"]),
  content: z.string(),
  source: z.enum(["dscl", "picture_path"]),
});
export type Avatar = z.infer<typeof Avatar>;

export const ACCOUNTS = {
  status: method("status", z.string(), AccountStatus),
  groups: method("groups", z.string(), z.array(z.string())),
  /** Whether the account has no password, so that PAM's `nullok` would admit anyone. */
  hasBlankPassword: method("hasBlankPassword", z.string(), z.boolean()),
  /** The next step of a login at PAM; `user` begins one. The server chooses the number. */
  stepLogin: method(
    "stepLogin",
    z.object({ login: z.int(), user: PamUser.optional(), answers: z.array(z.string()) }),
    PamStep,
  ),
  endLogin: event("endLogin", z.int()),
  /** The authorized_keys files below a home. */
  keyFiles: method("keyFiles", KeyOwner, KeyFiles),
  avatar: method("avatar", z.string(), Avatar.optional()),
};
