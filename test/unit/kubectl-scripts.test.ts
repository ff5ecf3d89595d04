// The scripts of k8s/ at a cluster that does not answer one of their questions: none of them may take that for an answer.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Ran, ScriptFolder } from "./script-folder.ts";

const K8S = fileURLToPath(new URL("../../k8s/", import.meta.url));
const REFUSAL = "error: the cluster does not answer";
const ONE_REMOTE = '*"get pods"*) echo pod/ttyhq-remote-0 ;;';
const SECRETS = '*"get secret"*) echo "kind: Secret" ;;';
/** A cluster whose pods cannot be listed once the workloads are scaled down. */
const LOST_AFTER_SCALE = '*"get pods"*) if grep -q " scale " "$CALLS"; then refuse; fi ;;';

/** A cluster whose one remote is scaled down; its volume has a session. */
const OLD_VOLUME = `*"get statefulset/ttyhq-remote --output jsonpath={.spec.replicas}"*) echo 0 ;;
*"get pods"*) case "$(grep " scale " "$CALLS" | tail -n 1) $*" in
  *--replicas=1*Ready*) echo True ;;
  *--replicas=1*) echo pod/ttyhq-remote-0 ;;
esac ;;
*exec*"ls -d"*) echo /data/.ttyhq/sessions/old/ ;;`;

type Script = {
  readonly script: string;
  /** The call of kubectl that fails. */
  readonly fails: string;
  /** COPY stands for a folder of k8s/backup. */
  readonly args?: readonly string[];
  /** Cases of the calls that succeed with an output. */
  readonly answers?: string;
  /** What may not follow: a call, or a claim on the standard output. */
  readonly never: RegExp;
};

const SCRIPTS: readonly Script[] = [
  { script: "backup", args: ["NEW"], fails: "get pvc ttyhq-hq", answers: SECRETS, never: /get pods/ },
  { script: "backup", args: ["NEW"], fails: "get statefulset/ttyhq-remote", answers: SECRETS, never: /exec/ },
  { script: "restore", args: ["COPY"], fails: "get statefulset/ttyhq-remote", never: /scale/ },
  { script: "restore", args: ["COPY"], fails: "get pods", never: /scale/ },
  { script: "restore", args: ["COPY"], fails: "exec", answers: ONE_REMOTE, never: /scale/ },
  { script: "restore", args: ["COPY"], fails: "nothing else", answers: LOST_AFTER_SCALE, never: /patch/ },
  { script: "make-secrets", fails: "get namespace ttyhq", never: /create|apply/ },
  { script: "make-secrets", fails: "get secret ttyhq-join", never: /ttyhq-signing/ },
  {
    script: "make-secrets",
    args: ["--redis"],
    fails: "get secret ttyhq-registry",
    answers: '*"get secret ttyhq-redis "*) echo secret/ttyhq-redis ;;',
    never: /secret generic ttyhq-(redis|registry) /,
  },
  {
    script: "update-servers",
    args: ["ttyhq:next"],
    fails: "set image",
    answers: `${ONE_REMOTE} *" get "*) echo 0 ;;`,
    never: /has this image/,
  },
];

test.each(SCRIPTS)("$script ends with an error if the cluster refuses: $fails", async (tested) => {
  await using folder = await ScriptFolder.make({});
  const { code, stderr, done } = await run(folder, tested);
  expect(stderr).toContain(REFUSAL);
  expect(stderr).not.toContain("has sessions");
  expect(code).toBe(1);
  expect(done).not.toMatch(tested.never);
});

test("backup calls nothing whole in a namespace without ttyhq", async () => {
  await using folder = await ScriptFolder.make({});
  const tested: Script = { script: "backup", args: ["NEW", "typo"], fails: "nothing", never: /^$/ };
  const { code, stderr } = await run(folder, tested);
  expect(stderr).toBe("backup: the namespace typo has no secret of ttyhq\n");
  expect(code).toBe(1);
});

test("a backup that fails at a remote leaves nothing that restore would take for a backup", async () => {
  await using folder = await ScriptFolder.make({});
  const answers = `${SECRETS}
*"get statefulset/ttyhq-remote"*) echo 2 ;;
*exec*) gzip </dev/null ;;`;
  const tested: Script = {
    ...{ script: "backup", args: ["NEW"], fails: "exec ttyhq-remote-1", answers, never: /^$/ },
  };
  const { code, stderr, done } = await run(folder, tested);
  expect(stderr).toContain("the copy of session-host in ttyhq-remote-1 is not whole");
  expect(code).toBe(1);
  expect(done).toContain("exec ttyhq-remote-0");
  expect(await readdir(folder.path)).not.toContainEqual(expect.stringMatching(/^new/));
});

test("restore keeps the sessions on a volume whose remote is scaled down, and starts the pods as before", async () => {
  await using folder = await ScriptFolder.make({});
  const tested: Script = {
    ...{ script: "restore", args: ["COPY"], fails: "nothing", answers: OLD_VOLUME, never: /^$/ },
  };
  const { code, stderr, done } = await run(folder, tested);
  expect(stderr).toMatch(/^restore: these have sessions: ttyhq-remote-0; delete the claim of each first /);
  expect(code).toBe(1);
  expect(done).not.toMatch(/ exec --stdin |rm -rf/);
  const changes = done.split("\n").filter((call) => / (scale|patch|rollout) /.test(call));
  expect(changes.slice(-2)).toEqual([
    " --namespace ttyhq rollout undo statefulset/ttyhq-remote",
    " --namespace ttyhq scale statefulset/ttyhq-remote --replicas=0",
  ]);
});

test("restore refuses a copy that lacks a remote", async () => {
  await using folder = await ScriptFolder.make({});
  const tested: Script = { script: "restore", args: ["COPY"], fails: "nothing", never: /^$/ };
  const { code, stderr, done } = await run(folder, tested, ["ttyhq-remote-2.server.tar.gz"]);
  expect(stderr).toMatch(/^restore: .+ is not whole: it lacks ttyhq-remote-1\.server\.tar\.gz\n$/);
  expect(code).toBe(1);
  expect(done).toBe("");
});

test.each([
  ["ttyhq-registry", "the address of an operator's own Redis"],
  ["ttyhq-redis", "left by a run that was interrupted"],
])(
  "make-secrets --redis changes neither %s nor its counterpart when it exists alone: %s",
  async (existing) => {
    await using folder = await ScriptFolder.make({});
    const answers = `*"get secret ${existing} "*) echo secret/${existing} ;;`;
    const tested: Script = {
      ...{ script: "make-secrets", args: ["--redis"], fails: "nothing", answers, never: /^$/ },
    };
    const { code, stderr, done } = await run(folder, tested);
    expect(stderr).toContain(`kubectl --namespace ttyhq delete secret ${existing}`);
    expect(code).toBe(1);
    expect(done).not.toMatch(/secret generic ttyhq-(redis|registry) /);
  },
);

test("update-servers, run again with an image that does not start, leaves the other servers alone", async () => {
  await using folder = await ScriptFolder.make({});
  const answers = `*"get pods"*) echo pod/ttyhq-remote-0 pod/ttyhq-remote-1 ;;
*restartCount*) echo 4 ;;
*ready*) echo false ;;`;
  const tested: Script = {
    ...{ script: "update-servers", args: ["ttyhq:broken"], fails: "nothing", answers, never: /^$/ },
  };
  const { code, stderr, done } = await run(folder, tested);
  expect(stderr).toMatch(/^update-servers: the server of pod\/ttyhq-remote-0 is not ready after 1 s: /);
  expect(code).toBe(1);
  expect(done).not.toContain("ttyhq-remote-1");
});

async function run(
  folder: ScriptFolder,
  { script, args = [], fails, answers = "" }: Script,
  otherFiles: readonly string[] = [],
): Promise<Ran & { readonly done: string }> {
  const [copy, calls] = [folder.at("copy"), folder.at("calls")];
  for (const name of ["secrets.yaml", "ttyhq-remote-0.server.tar.gz", ...otherFiles])
    await folder.write(join("copy", name), "");
  await folder.write("calls", "");
  await folder.command(
    "kubectl",
    `refuse() { echo "${REFUSAL}" >&2; exit 1; }
echo " $*" >>"$CALLS"
case "$*" in *"${fails}"*) refuse ;; ${answers} esac`,
  );
  const paths = args.map((arg) => arg.replace("NEW", folder.at("new")).replace("COPY", copy));
  const ran = await folder.run(join(K8S, script), paths, { CALLS: calls, TIMEOUT_SECONDS: "1" });
  return { ...ran, done: (await readFile(calls, "utf8")) + ran.stdout };
}
