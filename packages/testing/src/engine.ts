// The door to testcontainers, which is loaded with the first container: who tests without containers need not have it.
import type { ContainerRuntimeClient } from "testcontainers";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { isDead, OWNER_LABEL, ownName } from "./owner.ts";

/** What a container is made of. */
export type ContainerPlan = {
  readonly image: string;
  /** Unlike any other on the engine. */
  readonly name: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** In the container, and on this machine. */
  readonly port: { readonly container: number; readonly host: number };
  readonly network: NetworkPlace | undefined;
  /** Files of this machine, read only there. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
};

export type NetworkPlace = {
  readonly name: string;
  /** What the others in the network call it. */
  readonly aliases: readonly string[];
};

export type Container = ReturnType<ContainerRuntimeClient["container"]["getById"]>;

const START_TIMEOUT_MS = 60_000;

/** The container engine that this machine is set up for. Throws an Error that says what is missing. */
export async function engine(): Promise<ContainerRuntimeClient> {
  const { getContainerRuntimeClient } = await testcontainers();
  return getContainerRuntimeClient();
}

/** Whether containers can be started here: the package testcontainers is installed, and an engine answers. */
export async function hasEngine(): Promise<boolean> {
  return await engine().then(
    () => true,
    () => false,
  );
}

/**
 * Starts a container: its root read only, /tmp in memory, and reached from this machine at its port. It keeps its port when
 * it is started again. Nothing waits until the program in it answers.
 */
export async function startContainer(plan: ContainerPlan): Promise<Container> {
  const { GenericContainer } = await testcontainers();
  // There is no other way to what its builder leaves out than the one it has for those who build upon it.
  class ReadOnlyContainer extends GenericContainer {
    withReadOnlyRoot(): this {
      this.hostConfig.ReadonlyRootfs = true;
      return this;
    }
  }
  const container = new ReadOnlyContainer(plan.image)
    .withReadOnlyRoot()
    .withName(plan.name)
    .withCommand([...plan.command])
    .withEnvironment(plan.environment)
    .withTmpFs({ "/tmp": "rw,mode=1777" })
    .withBindMounts(plan.mounts.map((mount) => ({ ...mount, mode: "ro" })))
    .withExposedPorts(plan.port)
    .withLabels({ [OWNER_LABEL]: ownName() })
    // It would start a container of its own, from an image that a site without a registry does not have.
    .withAutoCleanup(false)
    .withWaitStrategy(NOTHING);
  const { network } = plan;
  if (network !== undefined) container.withNetworkMode(network.name).withNetworkAliases(...network.aliases);
  try {
    const started = await withDeadline(container.start(), START_TIMEOUT_MS, `the start of ${plan.name}`);
    return (await engine()).container.getById(started.getId());
  } catch (error) {
    // It may be there, and never have run.
    await removeContainer(plan.name);
    throw error;
  }
}

export async function createNetwork(name: string): Promise<void> {
  const { network } = await engine();
  await network.create({ Name: name, Driver: "bridge", Labels: { [OWNER_LABEL]: ownName() } });
}

/** No container may be in it any more. */
export async function removeNetwork(name: string): Promise<void> {
  const { network } = await engine();
  await network.remove(network.getById(name));
}

/** By id or name. Ends it whatever its state, and removes it with its volumes. Does nothing where there is none. */
export async function removeContainer(id: string): Promise<void> {
  const { container } = await engine();
  await container.getById(id).remove({ force: true, v: true }).catch(unlessGone);
}

/** Removes the containers and networks of test runs on this machine that were killed. */
export async function removeLeftovers(): Promise<void> {
  const { dockerode } = (await engine()).container;
  const filters = { label: [OWNER_LABEL] };
  const containers = await dockerode.listContainers({ all: true, filters });
  const dead = containers.filter(({ Labels }) => isDead(Labels[OWNER_LABEL] ?? ""));
  await Promise.all(dead.map(({ Id }) => removeContainer(Id)));
  const networks = await dockerode.listNetworks({ filters });
  const empty = networks.filter(({ Labels }) => isDead(Labels?.[OWNER_LABEL] ?? ""));
  await Promise.all(empty.map(({ Id }) => dockerode.getNetwork(Id).remove().catch(unlessGone)));
}

const NOTHING = {
  waitUntilReady: async () => {},
  withStartupTimeout: () => NOTHING,
  isStartupTimeoutSet: () => true,
  getStartupTimeout: () => START_TIMEOUT_MS,
};

async function testcontainers(): Promise<typeof import("testcontainers")> {
  try {
    return await import("testcontainers");
  } catch (cause) {
    throw new Error("containers need the package testcontainers: npm install --save-dev testcontainers", {
      cause,
    });
  }
}

/** Another may be removing it at the same time. */
function unlessGone(error: unknown): void {
  const isGone =
    error instanceof Error && "statusCode" in error && [404, 409].includes(Number(error.statusCode));
  if (!isGone) throw error;
}
