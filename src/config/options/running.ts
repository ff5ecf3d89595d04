// The part of the option table about how a server stops, and how much of the past it keeps.
import { DEFAULT_DRAIN_DELAY_MS, DEFAULT_GRACE_MS } from "../../protocol/limits.ts";
import { type Role, value } from "./option.ts";
import { type Retention, retention, span } from "./span.ts";

const SERVER: readonly Role[] = ["server"];
const BOTH: readonly Role[] = ["server", "session-host"];

export const RUNNING_OPTIONS = {
  grace: value({
    name: "grace",
    placeholder: "time",
    parse: span(1_000),
    fallback: DEFAULT_GRACE_MS,
    fallbackText: `${DEFAULT_GRACE_MS / 1_000}s`,
    prose:
      "How long stopping may take after SIGTERM: for downloads that are under way, and of a session host for its programs and their recordings.",
    roles: BOTH,
  }),
  drainDelay: value({
    name: "drain-delay",
    placeholder: "time",
    parse: span(0),
    fallback: DEFAULT_DRAIN_DELAY_MS,
    fallbackText: "0s",
    prose:
      "How long a server goes on after SIGTERM while /readyz says no, so that a load balancer that asks for it finds others. Part of `--grace`.",
    roles: SERVER,
  }),
  keepRecordings: value<Retention | undefined>({
    name: "keep-recordings",
    placeholder: "age,size",
    parse: retention,
    fallback: undefined,
    fallbackText: "",
    prose:
      "How much of ended sessions is kept: those that ended longer ago than an age such as 30d are removed with their recordings, and the oldest ones while all together take more than a size such as 10GB. Either, or both with a comma. Without it: everything.",
    roles: BOTH,
  }),
} as const;
