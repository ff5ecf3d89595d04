// The account worker: asks PAM and the system's name service, and holds no secret of the server.
import type { z } from "zod";
import { findSystemAccount, findSystemGroups, loginRefusal } from "../../lib/os/system-account.ts";
import { runSystemCommand } from "../../lib/os/system-command.ts";
import { SYSTEM_LOOKUP_TIMEOUT_MS } from "../../protocol/limits.ts";
import { readKeyFiles } from "../ssh/key-file.ts";
import { findAvatar } from "./avatar.ts";
import { type PamConversation, PamProcess } from "./pam.ts";
import {
  type AccountStatus,
  type Avatar,
  type PamStep,
  type Question,
  type Reply,
  Request,
} from "./questions.ts";

/** Logins at PAM; the server bounds their number. */
const logins = new Map<number, PamConversation>();

async function answer(question: Question): Promise<unknown> {
  switch (question.kind) {
    case "account":
      return await accountStatus(question.name);
    case "groups":
      return await findSystemGroups(question.name);
    case "blank-password":
      return await hasBlankPassword(question.name);
    case "pam-begin":
      logins.set(question.login, new PamProcess(question));
      return await nextStep(question.login, []);
    case "pam-answers":
      return await nextStep(question.login, question.answers);
    case "pam-end":
      return endLogin(question.login);
    case "keys":
      return await readKeyFiles(question);
    case "picture":
      return await avatarOf(question.user);
  }
}

async function nextStep(login: number, answers: readonly string[]): Promise<PamStep> {
  const conversation = logins.get(login);
  if (conversation === undefined) throw new Error("the worker that began this login has ended");
  try {
    const step = await conversation.next(answers);
    if (step.kind === "done") endLogin(login);
    return step;
  } catch (error) {
    endLogin(login);
    throw error;
  }
}

function endLogin(login: number): void {
  logins.get(login)?.[Symbol.dispose]();
  logins.delete(login);
}

async function avatarOf(user: string): Promise<z.infer<typeof Avatar> | undefined> {
  const avatar = await findAvatar(user, runSystemCommand);
  if (avatar === undefined) return undefined;
  const { bytes, ...rest } = avatar;
  return { ...rest, content: Buffer.from(bytes).toString("base64") };
}

async function accountStatus(name: string): Promise<AccountStatus> {
  const account = await findSystemAccount(name);
  if (account === undefined) return {};
  const refusal = await loginRefusal(account);
  return { account, ...(refusal === undefined ? {} : { refusal }) };
}

/** With `nullok`, as on Debian, PAM accepts any password for an account without one. */
async function hasBlankPassword(name: string): Promise<boolean> {
  const limits = { timeoutMs: SYSTEM_LOOKUP_TIMEOUT_MS };
  const { code, stdout } = await runSystemCommand("passwd", ["-S", "--", name], limits);
  return code === 0 && stdout.slice(name.length).startsWith(" NP");
}

process.on("message", (message) => {
  const { number, question } = Request.parse(message);
  const reply = (content: Omit<Reply, "number">): void => void process.send?.({ number, ...content });
  answer(question).then(
    (found) => reply({ answer: found }),
    (error: unknown) => reply({ error: error instanceof Error ? error.message : String(error) }),
  );
});

// Without the server nobody waits for answers.
process.once("disconnect", () => {
  for (const login of logins.keys()) endLogin(login);
  process.kill(process.pid, "SIGKILL");
});
