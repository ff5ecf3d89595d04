import { accessSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The longest files of their projects, the longest first: a project ends late when one of these starts last.
 * The others follow by size.
 */
const LONGEST = [
  "git/follow",
  "git/histories",
  "containers/systemd",
  "testing/package",
  "containers/pam",
  "git/follow-edits",
  "browser/machines",
  "git/follow-waiting",
  "auth/oidc-renewal",
  "containers/compose",
  "containers/packages",
  "auth/ssh-login",
  "hq/cuts",
  "rolling-restart",
  "git/injection",
  "browser/share",
  "websocket/work-events",
  "browser/accessible",
  "hq/sessions",
  "readme",
  "browser/sessions",
  "security/slow",
  "processes",
  "survival",
  "hq/websocket",
  "containers/pam-questions",
  "containers/isolation",
  "security/closed-accounts",
  "containers/image",
  "browser/terminal",
  "git/follow-unfinished",
  "browser/resume",
  "audit-ship",
  "git/status-life",
  "git/follow-kinds",
  "start-and-stop",
  "drain",
  "browser/flood",
  "git/follow-retry",
  "cli-up",
  "cli-commands",
  "git/hostile",
  "hq/registry-redis",
  "auth/ssh-key-files",
  "observability/metric-values",
  "backend/git-status",
  "hq/down",
  "fuzz-rest",
  "auth/ssh-authorized-keys",
  "cluster/fan-out",
  "cluster/faults",
  "cluster/registration",
  "cluster/expiry",
  "containers/pam-times",
  "containers/user-cgroups",
  "kubernetes/backup",
  "kubernetes/nodes",
  "kubernetes/ha",
  "kubernetes/probes",
].map((name) => join(import.meta.dirname, `test/integration/${name}.test.ts`));
for (const file of LONGEST) accessSync(file);

/** Vitest ends a worker when the next file belongs to another project, so the files of a project follow each other. */
const PROJECTS = ["unit", "git", "containers", "integration", "faults", "kubernetes"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projectOf = ({ project }: TestSpecification): number => PROJECTS.indexOf(project.name);
    const place = ({ moduleId }: TestSpecification): number =>
      LONGEST.includes(moduleId) ? LONGEST.indexOf(moduleId) : LONGEST.length;
    return (await super.sort(files)).toSorted((a, b) => projectOf(a) - projectOf(b) || place(a) - place(b));
  }
}

/**
 * These exhaust machines, compare times, or measure how soon machines are back that were paused, cut off or killed: after the
 * others.
 */
const FAULTS = [
  "test/integration/cluster/**/*.test.ts",
  "test/integration/containers/{out-of-memory,pam-times,user-cgroups}.test.ts",
];
const CONTAINERS = ["test/integration/{containers,testing}/**/*.test.ts"];

/** They run git thousands of times. A fork costs 2 ms in a worker of their own, 10 ms in one that has run many other files. */
const GIT = ["test/integration/git/**/*.test.ts"];

/** On a cluster that is there: the last ones, so that they have the machine to themselves where it is the cluster as well. */
const KUBERNETES = ["test/integration/kubernetes/**/*.test.ts"];

/** More than there are cores: most of a test's time goes by in waiting for processes, networks and pages. */
const WORKERS = 4;

/** Modules keep no state, so the files of a worker share them. A worker and its modules for each file cost half a second of CPU. */
const SHARED_MODULES = { isolate: false } as const;

/** Each wait in an integration test has a deadline of its own, and says what did not come. */
const PATIENT = { testTimeout: 300_000, hookTimeout: 300_000 };

/** Of polling in integration tests: a poll may be a run of git, and a busy machine delays what it waits for. */
const POLL = { poll: { timeout: 60_000, interval: 40 } };

const kubernetes = {
  test: {
    name: "kubernetes",
    include: KUBERNETES,
    // What nodes and pods take, and several of these: a wait that fails has a deadline of its own.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // Most of their time goes by in waiting for pods. More of these at once would be too many for one node.
    maxWorkers: 2,
    sequence: { groupOrder: 3 },
  },
};

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          ...SHARED_MODULES,
          maxWorkers: 2,
          // Longer than a wait has unless given another, which then says what did not come.
          testTimeout: 90_000,
          expect: { poll: { timeout: 60_000, interval: 10 } },
        },
      },
      {
        test: {
          name: "git",
          include: GIT,
          ...SHARED_MODULES,
          ...PATIENT,
          expect: POLL,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "containers",
          include: CONTAINERS,
          exclude: FAULTS,
          ...SHARED_MODULES,
          ...PATIENT,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: [...GIT, ...CONTAINERS, ...FAULTS, ...KUBERNETES],
          ...SHARED_MODULES,
          ...PATIENT,
          expect: POLL,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "faults",
          include: FAULTS,
          ...SHARED_MODULES,
          ...PATIENT,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      // `kubectl` finds a cluster without the variable as well: nobody's own is taken for a test by accident.
      ...(env.KUBECONFIG ? [kubernetes] : []),
    ],
  },
});
