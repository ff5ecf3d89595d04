// The account worker: asks PAM and the system's name service, and holds no secret of the server.
import { findSystemAccount, findSystemGroups, loginRefusal } from "../../lib/os/system-account.ts";
import { runSystemCommand } from "../../lib/os/system-command.ts";
import { parentPeer } from "../../lib/os/worker-process.ts";
import { SYSTEM_LOOKUP_TIMEOUT_MS } from "../../protocol/limits.ts";
import { readKeyFiles } from "../ssh/key-file.ts";
import { findAvatar } from "./avatar.ts";
import { ACCOUNTS, type AccountStatus, type PamStep } from "./methods.ts";
import { type PamConversation, PamProcess } from "./pam.ts";

/** Logins at PAM; the server bounds their number. */
const logins = new Map<number, PamConversation>();

// Without the server nobody waits for answers.
const server = parentPeer(() => {
  for (const login of logins.keys()) endLogin(login);
  process.kill(process.pid, "SIGKILL");
});
server.serve(ACCOUNTS.status, accountStatus);
server.serve(ACCOUNTS.groups, (name) => findSystemGroups(name));
server.serve(ACCOUNTS.hasBlankPassword, hasBlankPassword);
server.serve(ACCOUNTS.keyFiles, readKeyFiles);
server.serve(ACCOUNTS.avatar, (user) => findAvatar(user, runSystemCommand));
server.serve(ACCOUNTS.stepLogin, ({ login, user, answers }) => {
  if (user !== undefined) logins.set(login, new PamProcess(user));
  return nextStep(login, answers);
});
server.serve(ACCOUNTS.endLogin, endLogin);

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
