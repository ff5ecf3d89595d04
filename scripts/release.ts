// Writes the files of a release to release/: npm packages, archives and Debian packages with Node, images if a
// container engine answers, Kubernetes manifests, the bill of materials, the provenance, and checksums. Run by npm:
// `npm run release`.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { ROOT } from "./build.ts";
import { makeDebianPackage } from "./release/debian-package.ts";
import { sha256, version } from "./release/file.ts";
import { saveImage } from "./release/image.ts";
import { provenance } from "./release/provenance.ts";
import { makeTree } from "./release/tree.ts";

const OUT = join(ROOT, "release");
/** The kernel runs arm64 programs with it. */
const ARM64_EMULATOR = "/proc/sys/fs/binfmt_misc/qemu-aarch64";
const WORK = join(ROOT, ".cache/release");

/** Unpacks the npm package, which has the native files of each architecture. */
function unpackNpmPackage(): string {
  // Also builds dist/ if it is stale.
  execFileSync("npm", ["pack", "--silent", "--pack-destination", OUT], {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "inherit"],
  });
  execFileSync("tar", ["-xzf", join(OUT, `ttyhq-${version}.tgz`), "-C", WORK]);
  return join(WORK, "package");
}

/** Reproducible: equal contents give equal bytes. */
function pack(archive: string, folder: string, name: string): void {
  const same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
  const file = join(OUT, archive);
  execFileSync("tar", ["--create", "--gzip", ...same, `--file=${file}`, `--directory=${folder}`, name]);
}

/** The folder k8s, and one file for each overlay: install.yaml for the base, install-ha.yaml for the overlay ha. */
function makeManifests(): void {
  const k8s = join(ROOT, "k8s");
  pack("ttyhq-k8s.tar.gz", ROOT, "k8s");
  const overlays = readdirSync(join(k8s, "overlays")).filter((name) => name !== "lab");
  const folders = [["install", "base"], ...overlays.map((name) => [`install-${name}`, `overlays/${name}`])];
  for (const [name, folder = ""] of folders)
    writeFileSync(join(OUT, `${name}.yaml`), execFileSync("kubectl", ["kustomize", join(k8s, folder)]));
}

/** Saves the image that TTYHQ_IMAGE names. Without it, builds the images of this machine's architecture and, with an emulator, of arm64. */
function saveImages(): void {
  if (env.TTYHQ_IMAGE !== undefined) {
    saveImage(env.TTYHQ_IMAGE, imageFile(arch()));
    return;
  }
  buildImage(`ttyhq:${version}`, arch());
  if (existsSync(ARM64_EMULATOR)) buildImage(`ttyhq:${version}-arm64`, "arm64");
  else if (arch() !== "arm64") console.error("no emulator of arm64: the release has no image for it");
}

function buildImage(image: string, target: string): void {
  const build = { ...env, IMAGE: image, ARCH: target === arch() ? "" : target };
  execFileSync("sh", [join(ROOT, "docker/build.sh"), "--quiet"], { env: build });
  saveImage(image, imageFile(target));
}

function imageFile(target: string): string {
  return join(OUT, `ttyhq-image-linux-${target}.tar`);
}

function hasEngine(): boolean {
  try {
    execFileSync("docker", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

for (const folder of [OUT, WORK]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}
const unpacked = unpackNpmPackage();
execFileSync("npm", ["pack", "--silent", "-w", "packages/testing", "--pack-destination", OUT], { cwd: ROOT });
for (const name of readdirSync(join(unpacked, "prebuilds"))) {
  const target = name === "linux-arm64" ? "arm64" : "x64";
  const folder = join(WORK, target);
  await makeTree(target, unpacked, join(folder, "ttyhq"));
  pack(`ttyhq-linux-${target}.tar.gz`, folder, "ttyhq");
  makeDebianPackage(target, join(folder, "ttyhq"), join(folder, "debian"), OUT);
  if (target === arch()) cpSync(join(folder, "ttyhq/sbom.cdx.json"), join(OUT, "sbom.cdx.json"));
}
makeManifests();
if (hasEngine()) saveImages();
else console.error("no container engine answers: the release has no image");
writeFileSync(join(OUT, "provenance.intoto.json"), provenance(OUT));
const sums = readdirSync(OUT)
  .sort()
  .map((name) => `${sha256(join(OUT, name))}  ${name}\n`);
writeFileSync(join(OUT, "SHA256SUMS"), sums.join(""));
rmSync(WORK, { recursive: true, force: true });
