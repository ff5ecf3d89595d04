// biome-ignore-all lint/performance/noBarrelFile: a package has one front door, and this is what `ttyhq/testing` is.
// Everything that users import by that name, and nothing that the project's own files do.
export type { Access, Credentials } from "./access.ts";
export { Cluster, type ClusterOptions } from "./cluster.ts";
export { ServiceContainer, type TlsFiles } from "./container.ts";
export { reportFailures } from "./failures/failure-report.ts";
export { LocalCluster, type LocalClusterOptions } from "./local/local-cluster.ts";
export type { Machine, TestCluster } from "./machine.ts";
export { OracleChecker, type OracleCheckerOptions } from "./oracle/checker.ts";
export type { OracleFault } from "./oracle/faults.ts";
export { type OracleOptions, oracleProgram } from "./oracle/program.ts";
export type { OracleReport } from "./oracle/report.ts";
export { ServerClient } from "./server-client.ts";
export { startCluster } from "./start-cluster.ts";
export type { Executed, StartedService } from "./started.ts";
export { type AttachOptions, TerminalClient, type ViewOptions } from "./terminal-client.ts";
export { eventually, type WaitOptions } from "./wait.ts";
