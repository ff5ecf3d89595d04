import { resolve } from "node:path";
import type { Command } from "commander";
import { keptFiles } from "../../../audit/file/log-lines.ts";
import { readSealedHead, type SealFiles } from "../../../audit/file/sealed-head.ts";
import { type Verification, verifyLog } from "../../../audit/file/verify.ts";
import { parseAuditLog } from "../../../config/config.ts";
import { ServiceError } from "../../../protocol/errors.ts";
import { auditFiles } from "../../../sessions/storage/control-dir.ts";
import { configInput } from "../../configuration.ts";
import { examples } from "../../examples.ts";
import { ExitCode, type Finish } from "../../exit-code.ts";
import type { Cli } from "../../process-context.ts";
import { addAuditList } from "./list.ts";

const EXAMPLES = examples(
  ["ttyhq audit list --since 1d --user ada", "what a user did lately, newest first"],
  ["ttyhq audit verify", "the audit log of the local server, its beginning and end included"],
  ["ttyhq audit verify backup/audit.log*", "copies: whether the lines in them are an unbroken chain"],
);

export function addAudit(program: Command, cli: Cli, finish: Finish): void {
  const audit = program
    .command("audit")
    .summary("read and check the audit log")
    .description("Read and check the audit log.")
    .addHelpText("after", EXAMPLES);
  addAuditList(audit, cli);
  audit
    .command("verify")
    .summary("check that no line of the audit log was changed or removed")
    .description(
      "Check that no line of the audit log was changed, moved or removed. Without FILE: the files of the local server, against its sealed head. With FILE: only the chain in these files; with --control-dir against the sealed head there as well. Ends with 1 and the first bad line when something is wrong.",
    )
    .argument("[file...]", "files of one audit log, in any order")
    .option("--control-dir <path>", "control directory of the server (~/.ttyhq)")
    .option("--audit-log <path>", "audit log of the server (audit.log in the control directory)")
    .option("--config <file>", "configuration file of the server, for both")
    .option(
      "--json",
      'print {"files", "first", "last", "sealed", "unchained", "torn", "problem": {"file", "line", "reason"}}',
    )
    .action(async (paths: readonly string[], flags: VerifyFlags) => {
      const verification = await verified(paths, flags, cli);
      cli.stdout.write(flags.json ? `${JSON.stringify(verification)}\n` : sentenceOf(verification));
      if (verification.problem !== undefined) finish(ExitCode.Failed);
    })
    .addHelpText("after", EXAMPLES);
}

type VerifyFlags = { readonly controlDir?: string; readonly json?: true };

async function verified(paths: readonly string[], flags: VerifyFlags, cli: Cli): Promise<Verification> {
  const { controlDir, auditLog } = parseAuditLog(await configInput(flags, cli));
  const files = auditFiles(controlDir);
  const seal = { ...files, log: auditLog ?? files.log };
  const named = paths.map((path) => resolve(cli.cwd, path));
  if (named.length > 0 && flags.controlDir === undefined) {
    return await verifyLog(named, { sealed: undefined, isWhole: false });
  }
  const first = await verifiedAgainstSeal(named, seal);
  // A rotation meanwhile looks like a change.
  return first.problem === undefined ? first : await verifiedAgainstSeal(named, seal);
}

async function verifiedAgainstSeal(named: readonly string[], seal: SealFiles): Promise<Verification> {
  const { sealed, reason } = await sealOf(seal);
  const files = named.length > 0 ? named : await keptFiles(seal.log);
  if (files.length === 0 && sealed === undefined) {
    throw new ServiceError(
      "not_found",
      `no audit log at ${seal.log}: say where with --control-dir or --audit-log`,
    );
  }
  const verification = await verifyLog(files, { sealed, isWhole: named.length === 0 });
  const isUnsealed = sealed === undefined && verification.first !== undefined;
  if (!isUnsealed || verification.problem !== undefined) return verification;
  return { ...verification, problem: { file: seal.head, line: 1, reason } };
}

/** A head that is missing or forged is a finding, not a failure of this command. */
async function sealOf(files: SealFiles): Promise<SealOf> {
  try {
    const sealed = await readSealedHead(files);
    return {
      sealed,
      reason: "there is no sealed head: nobody can tell whether lines at the end are missing",
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { sealed: undefined, reason: error.message };
  }
}

type SealOf = { readonly sealed: Awaited<ReturnType<typeof readSealedHead>>; readonly reason: string };

function sentenceOf({ files, first, last, sealed, unchained, torn, problem }: Verification): string {
  if (problem !== undefined) return `${problem.file}:${problem.line}: ${problem.reason}\n`;
  const lines = first === undefined ? "no line of a chain" : `sequences ${first} to ${last} are unbroken`;
  const notes = [
    sealed === undefined ? "the end was not checked against a sealed head" : `sealed up to ${sealed}`,
    ...(unchained > 0 ? [`${unchained} lines of older versions are not in the chain`] : []),
    ...(torn > 0 ? [`${torn} bytes at the end are no whole line`] : []),
  ];
  return `${lines} in ${files.length} ${files.length === 1 ? "file" : "files"}; ${notes.join("; ")}\n`;
}
