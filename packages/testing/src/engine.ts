// The only importer of testcontainers, which is loaded with the first container: tests without containers do not need
// it.
import type { ContainerRuntimeClient } from "testcontainers";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { isDead, OWNER_LABEL, ownName } from "./owner.ts";

/** The parameters of a container. */
export type ContainerPlan = {
  readonly image: string;
  /** Unique on the engine. */
  readonly name: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** In the container, and on this machine. */
  readonly port: { readonly container: number; readonly host: number };
  readonly network: NetworkPlace | undefined;
  /** Files of this machine, mounted read-only. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
};

export type NetworkPlace = {
  readonly name: string;
  /** Its name in the network. */
  readonly aliases: readonly string[];
};

export type Container = ReturnType<ContainerRuntimeClient["container"]["getById"]>;

const START_TIMEOUT_MS = 60_000;

/** The container engine of this machine. Throws an Error that names a missing part. */
export async function engine(): Promise<ContainerRuntimeClient> {
  const { getContainerRuntimeClient } = await testcontainers();
  return getContainerRuntimeClient();
}

/** Whether containers can be started: the package testcontainers is installed, and an engine answers. */
export async function hasEngine(): Promise<boolean> {
  return await engine().then(
    () => true,
    () => false,
  );
}

/**
 * Starts a container: read-only root, /tmp in memory, and a fixed port on this machine, also after a restart. Does not
 * wait for its program.
 */
export async function startContainer(plan: ContainerPlan): Promise<Container> {
  const { GenericContainer } = await testcontainers();
  // Subclasses are the only way to settings that its builder lacks.
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
    // It would start a container from an image that a site without a registry does not have.
    .withAutoCleanup(false)
    .withWaitStrategy(NOTHING);
  const { network } = plan;
  if (network !== undefined) container.withNetworkMode(network.name).withNetworkAliases(...network.aliases);
  try {
    const started = await withDeadline(container.start(), START_TIMEOUT_MS, `the start of ${plan.name}`);
    return (await engine()).container.getById(started.getId());
  } catch (error) {
    const ended = await endedContainer(plan.name);
    if (ended !== undefined) return ended;
    // The container may exist without ever having run.
    await removeContainer(plan.name);
    throw error;
  }
}

/** One whose program ended at once: testcontainers waits in vain for its ports. */
async function endedContainer(name: string): Promise<Container | undefined> {
  const { container } = await engine();
  return await container
    .getById(name)
    .inspect()
    .then(
      ({ Id, State }) => (State.Status === "exited" ? container.getById(Id) : undefined),
      () => undefined,
    );
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

/** By id or name. Ends it in any state, and removes it with its volumes. Does nothing if there is none. */
export async function removeContainer(id: string): Promise<void> {
  const { container } = await engine();
  await container
    .getById(id)
    .remove({ force: true, v: true })
    .catch(unless(...GONE));
}

/** Removes the containers and networks of killed test runs on this machine, except networks with a container of others. */
export async function removeLeftovers(): Promise<void> {
  const { dockerode } = (await engine()).container;
  const filters = { label: [OWNER_LABEL] };
  const containers = await dockerode.listContainers({ all: true, filters });
  const dead = containers.filter(({ Labels }) => isDead(Labels[OWNER_LABEL] ?? ""));
  await Promise.all(dead.map(({ Id }) => removeContainer(Id)));
  const networks = await dockerode.listNetworks({ filters });
  const empty = networks.filter(({ Labels }) => isDead(Labels?.[OWNER_LABEL] ?? ""));
  await Promise.all(
    empty.map(({ Id }) =>
      dockerode
        .getNetwork(Id)
        .remove()
        .catch(unless(...GONE, IN_USE)),
    ),
  );
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

/** Another run may be removing it at the same time. */
const GONE = [404, 409];
/** Of a network with a container. */
const IN_USE = 403;

function unless(...statusCodes: readonly number[]): (error: unknown) => void {
  return (error) => {
    const isExpected =
      error instanceof Error && "statusCode" in error && statusCodes.includes(Number(error.statusCode));
    if (!isExpected) throw error;
  };
}
