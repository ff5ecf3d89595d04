import type { HostConfig } from "./config.ts";
import { flagOf, type Option } from "./option.ts";
import { OPTIONS } from "./options.ts";

/**
 * The flags with which `ttyhq session-host` gets the same configuration: the opposite of `parseHostConfig`. The host
 * inherits the server's variables too, so a switch needs no way to be turned off.
 */
export function hostArguments(config: HostConfig): readonly string[] {
  const { controlDir, recording, log } = config;
  return [
    ...argument(OPTIONS.controlDir, controlDir),
    ...argument(OPTIONS.maxRecordingSize, String(recording.maxBytes)),
    ...argument(OPTIONS.logFormat, log.format),
    ...(recording.withInput ? argument(OPTIONS.recordInput) : []),
    ...(log.level === "debug" ? argument(OPTIONS.debug) : []),
  ];
}

function argument(option: Option, ...values: readonly string[]): readonly string[] {
  const flag = flagOf(option);
  return flag === undefined ? [] : [flag, ...values];
}
