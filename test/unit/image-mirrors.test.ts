// Where the image is to get Debian's packages from, by the sources that the machine which builds it has.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Ran, ScriptFolder } from "./script-folder.ts";

const DOCKERFILE = fileURLToPath(new URL("../../docker/Dockerfile", import.meta.url));
/** No other commands of this machine. */
const SYSTEM = "/usr/bin:/bin";
const FILES = [
  "docker/build.sh",
  "docker/base/build.sh",
  "docker/Dockerfile",
  "package.json",
  "scripts/debian.sh",
];
/** Says which secrets there are, and what is in the one about sources. */
const SAY_SECRETS = `for word; do
  case $word in id=apt_sources,*) cat "\${word#*src=}" ;; id=*) echo "\${word%%,*}" ;; esac
done`;

const MACHINES = [
  {
    about: "a mirror by HTTP",
    targets: ["Debian main bookworm http://mirror.example.com/debian/"],
    said: ["deb http://mirror.example.com/debian/ bookworm main"],
  },
  {
    about: "a list of mirrors in a file, as Debian's cloud images do",
    targets: [
      "Debian main bookworm mirror+file:MIRRORS/",
      "Debian main bookworm-security http://mirror.example.com/debian-security/",
    ],
    said: [
      "deb http://one.example.com/debian bookworm main",
      "deb http://mirror.example.com/debian-security/ bookworm-security main",
    ],
  },
  {
    about: "a disc and its own files alone",
    targets: ["Debian main bookworm cdrom://[Debian 12]/", "Debian main bookworm file:/srv/debian/"],
    said: [],
  },
  { about: "another release", targets: ["Debian main trixie http://mirror.example.com/debian/"], said: [] },
  {
    about: "a mirror by HTTPS, whose authority the image does not know",
    targets: ["Debian main bookworm https://mirror.example.com/debian/"],
    said: ["id=ca", "deb https://mirror.example.com/debian/ bookworm main"],
  },
] as const;

test.each(MACHINES)(
  "the image is built with what it can use of a machine that has $about",
  async (machine) => {
    await using folder = await checkout(machine.targets, SAY_SECRETS);
    const { stdout } = await run(folder, "docker/build.sh");
    const lines = stdout.split("\n").filter((line) => /^(?:deb|id=ca)/.test(line));
    expect(lines.sort()).toEqual([...machine.said].sort());
  },
);

test("the base image is made from the first mirror of such a list", async () => {
  await using folder = await checkout(["Debian main bookworm mirror+file:MIRRORS/"], "[ $1 = version ]");
  const { stderr } = await run(folder, "docker/base/build.sh");
  expect(stderr).toMatch(/debootstrap failed: .* bookworm \S+ http:\/\/one\.example\.com\/debian$/m);
});

test("for an image of arm64 the base image of the build's own stage is made for this machine", async () => {
  await using folder = await checkout(
    ["Debian main bookworm http://mirror.example.com/debian/"],
    "[ $1 = version ]",
  );
  const { stderr } = await run(folder, "docker/build.sh", { ARCH: "arm64" });
  expect(stderr).toMatch(/debootstrap failed: .* --arch=amd64 bookworm /m);
});

/** A checkout whose engine is `docker`, on a machine with those targets of apt. */
async function checkout(targets: readonly string[], docker: string): Promise<ScriptFolder> {
  const folder = await ScriptFolder.make({
    docker,
    debootstrap: 'echo "$@"; exit 1',
    ...{ "apt-config": "", npm: "", id: "echo 0", dpkg: "echo amd64" },
  });
  await folder.copy(...FILES);
  await folder.write(
    "mirrors.list",
    "# the nearest\nhttp://one.example.com/debian\tpriority:1\nhttp://two.example.com/debian\n",
  );
  const listed = targets.map((target) => target.replace("MIRRORS", folder.at("mirrors.list"))).join("\n");
  await folder.command("apt-get", `cat <<'END'\n${listed}\nEND`);
  return folder;
}

function run(
  folder: ScriptFolder,
  script: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return folder.run(script, [], { ...more, PATH: `${folder.at("bin")}:${SYSTEM}` });
}

test("apt, which has a user of its own for what it fetches, can read the authorities wherever it is run", async () => {
  const steps = (await readFile(DOCKERFILE, "utf8")).split(/^RUN /m);
  const ofApt = steps.filter((step) => step.includes("sh /apt-install "));
  expect(ofApt).toHaveLength(4);
  for (const step of ofApt) expect(step).toContain("--mount=type=secret,id=ca,mode=0444 ");
});
