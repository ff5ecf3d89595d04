// The files of `npm run release`, installed on machines without compilers, and some without Node.
import { mkdtempDisposable, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { PrintedSession } from "../harness/printed-session.ts";
import { builtImage, IMAGE, ROOT } from "./built-image.ts";
import { BUILD_TIMEOUT_MS, docker, output } from "./docker.ts";
import { SystemdMachine, systemdImage } from "./systemd-machine.ts";

const RELEASE = join(ROOT, "release");
const K8S_OVERLAYS = join(ROOT, "k8s/overlays");
const BASE = process.env.NODE_IMAGE ?? "node:24-bookworm-slim";
const MAX_ARCHIVE_BYTES = 60_000_000;
const WITHOUT_NODE = ["--env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"];
const CONFIG = "/etc/ttyhq/config.yaml";
/** A server, and a program in one of its sessions. */
const USE = [
  "ttyhq serve --no-auth --bind 127.0.0.1 >/dev/null &",
  "ttyhq health --wait 60",
  "ttyhq run -- sh -c 'echo it works'",
].join("\n");

beforeAll(async () => {
  await Promise.all([builtImage(), systemdImage()]);
  await output("npm", ["run", "release"], { timeoutMs: BUILD_TIMEOUT_MS, env: { TTYHQ_IMAGE: IMAGE } });
}, 2 * BUILD_TIMEOUT_MS);

async function fileOf(pattern: RegExp): Promise<string> {
  const [name = ""] = (await readdir(RELEASE)).filter((file) => pattern.test(file));
  return name;
}

/** The output of a script on a machine without a network. */
function onMachine(script: string, options: readonly string[] = []): Promise<string> {
  const how = ["--rm", "--network", "none", "--volume", `${RELEASE}:/release:ro`, "--entrypoint", "sh"];
  return docker("run", ...how, ...options, BASE, "-ec", script);
}

test("the npm package is installed without a compiler or a network, and runs a session", async () => {
  const install = `! command -v cc make python3\nnpm install --global --offline --silent /release/${await fileOf(/^ttyhq-\d.*\.tgz$/)}`;
  const manual = "test -e $(npm prefix --global)/share/man/man1/ttyhq-run.1";
  expect(await onMachine(`${install}\n${manual}\n${USE}`)).toContain("it works");
});

test("the archive brings its own Node, runs a session, and is under 60 MB", async () => {
  const name = await fileOf(/^ttyhq-linux-x64\.tar\.gz$/);
  expect((await stat(join(RELEASE, name))).size).toBeLessThan(MAX_ARCHIVE_BYTES);
  const unpack = [
    "! command -v node",
    `tar xzf /release/${name} -C /opt`,
    "ln -s /opt/ttyhq/bin/ttyhq /usr/bin/ttyhq",
    "ttyhq --version",
  ].join("\n");
  expect(await onMachine(`${unpack}\n${USE}`, WITHOUT_NODE)).toMatch(/^\d+\.\d+\.\d+\n[\s\S]*it works/);
});

test("the image in the release is the one that was tested", async () => {
  const id = (): Promise<string> => docker("image", "inspect", "--format", "{{.Id}}", IMAGE);
  const tested = await id();
  await docker("load", "--input", join(RELEASE, await fileOf(/^ttyhq-image-.*\.tar\.gz$/)));
  expect(await id()).toBe(tested);
});

test("the release has the manifests of the base and of each overlay, and all of k8s", async () => {
  const overlays = (await readdir(K8S_OVERLAYS)).filter((name) => name !== "lab");
  const expected = new Map([
    ["install.yaml", "k8s/base"],
    ...overlays.map((name) => [`install-${name}.yaml`, `k8s/overlays/${name}`] as const),
  ]);
  const found = (await readdir(RELEASE)).filter((name) => name.startsWith("install"));
  expect(found.toSorted()).toEqual([...expected.keys()].toSorted());
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-k8s-"));
  await output("tar", ["-xzf", join(RELEASE, "ttyhq-k8s.tar.gz"), "-C", folder.path]);
  for (const [name, overlay] of expected) {
    const made = await output("kubectl", ["kustomize", join(folder.path, overlay)]);
    expect((await readFile(join(RELEASE, name), "utf8")).trim()).toBe(made.trim());
  }
});

test("the provenance names the commit, and each file with its checksum", async () => {
  const statement = JSON.parse(await readFile(join(RELEASE, "provenance.intoto.json"), "utf8"));
  const commit = (await output("git", ["-C", ROOT, "rev-parse", "HEAD"])).trim();
  expect(statement.predicate.buildDefinition.resolvedDependencies[0]).toEqual({
    ...{ name: "source", digest: { gitCommit: commit } },
  });
  const sums = await readFile(join(RELEASE, "SHA256SUMS"), "utf8");
  const others = sums.split("\n").filter((line) => line !== "" && !line.endsWith("provenance.intoto.json"));
  const subject = z.array(z.object({ name: z.string(), digest: z.object({ sha256: z.string() }) }));
  const named = subject.parse(statement.subject).map(({ name, digest }) => `${digest.sha256}  ${name}`);
  expect(named).toEqual(others);
});

test("each file has its checksum", async () => {
  const checked = await output("sh", ["-c", `cd ${RELEASE} && sha256sum --check SHA256SUMS`]);
  const files = (await readdir(RELEASE)).filter((name) => name !== "SHA256SUMS");
  expect(checked.split("\n").toSorted()).toEqual(files.map((name) => `${name}: OK`).toSorted());
});

test("Debian's package runs a service, keeps its sessions over an upgrade, and leaves nothing when it is purged", {
  timeout: 600_000,
}, async () => {
  await using machine = await SystemdMachine.start();
  const name = await fileOf(/_amd64\.deb$/);
  await docker("cp", join(RELEASE, name), `${machine.name}:/`);
  const install = () => machine.output("dpkg", "--install", `/${name}`);
  // The image's file, which would make the package ask a question.
  await machine.sh("rm /etc/pam.d/ttyhq");
  await install();
  const installed = await machine.output("dpkg-query", "--listfiles", "ttyhq");
  for (const path of ["bash-completion/completions/ttyhq", "man/man1/ttyhq-run.1.gz", "doc/ttyhq/copyright"])
    expect(installed).toContain(`/usr/share/${path}\n`);
  await machine.sh(`echo 'bind: 127.0.0.1' >>${CONFIG}`);
  await machine.output("systemctl", "enable", "--now", "ttyhq-session-host", "ttyhq");
  const run = ["/usr/bin/ttyhq", "run", "--detach", "--json", "--config", CONFIG, "--", "cat"];
  const started = PrintedSession.parse(JSON.parse(await machine.output(...run)));
  const server = await machine.property("ttyhq", "MainPID");

  await install();
  await machine.output("/usr/bin/ttyhq", "health", "--wait", "60", "--config", CONFIG);
  expect(await machine.property("ttyhq", "MainPID")).not.toBe(server);
  const list = JSON.parse(await machine.output("/usr/bin/ttyhq", "ls", "--json", "--config", CONFIG));
  expect(z.array(PrintedSession).parse(list)).toMatchObject([
    { id: started.id, pid: started.pid, status: "running" },
  ]);

  await machine.output("dpkg", "--purge", "ttyhq");
  const left =
    "find /etc /usr/bin /usr/lib /usr/share -name '*ttyhq*' -not -path '/usr/lib/systemd/system/*.d/*'";
  expect(await machine.sh(`${left}; pgrep -f [u]sr/lib/ttyhq || true`)).toBe("");
});
