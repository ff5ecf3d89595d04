// Questions of the system besides the password, such as a one-time code (PAM, pam_conv(3)).
import { z } from "zod";

/** `echo`: the answer is no secret and may be displayed. */
export const LoginPrompt = z.object({ message: z.string(), echo: z.boolean() });

/** `messages`: other messages of the system. */
export const LoginPrompts = z.object({ prompts: z.array(LoginPrompt), messages: z.array(z.string()) });
export type LoginPrompts = z.infer<typeof LoginPrompts>;

/** `details` of the error `login_question`. */
export const LoginQuestion = LoginPrompts.extend({
  challengeId: z.string(),
  expiresIn: z.int().describe("seconds"),
});
export type LoginQuestion = z.infer<typeof LoginQuestion>;

/** POST /api/auth/answers: one answer for each prompt, in order. */
export const LoginAnswers = z.object({
  challengeId: z.string().max(128),
  answers: z.array(z.string().max(1024)).max(32),
});
export type LoginAnswers = z.infer<typeof LoginAnswers>;
