import type { HostConfig } from "./config.ts";
import { flagOf, type Option } from "./options/option.ts";
import { OPTIONS } from "./options/options.ts";
import { retentionText } from "./options/span.ts";

/**
 * The flags with which `ttyhq session-host` gets the same configuration: the opposite of `parseHostConfig`. The host
 * gets none of the server's variables, so what is not said here is as it is by default.
 */
export function hostArguments(config: HostConfig): readonly string[] {
  const { controlDir, hostSocket, recording, graceMs, log } = config;
  const { keep } = recording;
  return [
    ...argument(OPTIONS.controlDir, controlDir),
    ...(hostSocket === undefined ? [] : argument(OPTIONS.hostSocket, hostSocket)),
    ...argument(OPTIONS.maxRecordingSize, String(recording.maxBytes)),
    ...argument(OPTIONS.grace, `${graceMs}ms`),
    ...(keep === undefined ? [] : argument(OPTIONS.keepRecordings, retentionText(keep))),
    ...argument(OPTIONS.logFormat, log.format),
    ...(recording.withInput ? argument(OPTIONS.recordInput) : []),
    ...(log.level === "debug" ? argument(OPTIONS.debug) : []),
  ];
}

function argument(option: Option, ...values: readonly string[]): readonly string[] {
  const flag = flagOf(option);
  return flag === undefined ? [] : [flag, ...values];
}
