// The units of packaging/systemd/, for packages that bring the program as /usr/bin/ttyhq.
import { DEFAULT_GRACE_MS } from "../../protocol/limits.ts";
import { HOST_UNIT, hostUnit, SERVER_UNIT, serverUnit, type UnitPlan } from "./unit-file.ts";

const NOTE =
  "For packages that bring /usr/bin/ttyhq. Made by npm run docs from src/cli/systemd/unit-file.ts.";
const CONFIG = ["--config", "/etc/ttyhq/config.yaml"];
const COMMON = { note: NOTE, program: ["/usr/bin/ttyhq"], runAs: undefined, graceMs: DEFAULT_GRACE_MS };
const SYSTEM: UnitPlan = {
  ...{ ...COMMON, scope: "system" },
  ...{ serverFlags: CONFIG, hostFlags: CONFIG, clientFlags: CONFIG },
};
/** A user need not have a file of their own. */
const USER: UnitPlan = { ...COMMON, scope: "user", serverFlags: [], hostFlags: [], clientFlags: [] };

/** By path below packaging/systemd/. */
export const PACKAGED_UNITS: Readonly<Record<string, () => string>> = {
  [`system/${SERVER_UNIT}`]: () => serverUnit(SYSTEM),
  [`system/${HOST_UNIT}`]: () => hostUnit(SYSTEM),
  [`user/${SERVER_UNIT}`]: () => serverUnit(USER),
  [`user/${HOST_UNIT}`]: () => hostUnit(USER),
};
