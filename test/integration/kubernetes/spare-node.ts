// An additional node, which a test may drain and kill.
import { env } from "node:process";
import { afterAll, beforeAll } from "vitest";
import { IMAGE } from "../containers/built-image.ts";
import { output } from "../containers/docker.ts";
import type { Kubectl } from "./kubectl.ts";

/**
 * A program that adds a node to the cluster (`up`), kills it like a machine (`fail`) and removes it (`down`). Without
 * it, tests with such a node are skipped.
 */
export const NODE_PROGRAM = env.TTYHQ_TEST_NODE;
const PROGRAM_TIMEOUT_MS = 180_000;

/** Disposal removes it. */
export class SpareNode implements AsyncDisposable {
  readonly name: string;

  private constructor(name: string) {
    this.name = name;
  }

  /** Resolves when it is ready for pods. */
  static async join(kubectl: Kubectl): Promise<SpareNode> {
    // Left over from a killed run.
    await act("down");
    const before = await namesOf(kubectl);
    await act("up");
    const name = (await namesOf(kubectl)).find((each) => !before.includes(each));
    if (name === undefined)
      throw new Error(`${NODE_PROGRAM} up: the cluster has no other nodes than ${before}`);
    const node = new SpareNode(name);
    await kubectl.awaits("wait", `node/${name}`, "--for=condition=Ready");
    return node;
  }

  async fail(): Promise<void> {
    await act("fail");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await act("down");
  }
}

/** One for all tests of a suite, joined in the order of the suite's hooks. */
export function stagedSpareNode(kubectl: () => Kubectl): { readonly node: SpareNode } {
  let node: SpareNode | undefined;
  beforeAll(async () => {
    node = await SpareNode.join(kubectl());
  });
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
  });
  return {
    get node() {
      if (node === undefined) throw new Error("the spare node has not joined");
      return node;
    },
  };
}

async function namesOf(kubectl: Kubectl): Promise<readonly string[]> {
  return (await kubectl.nodes()).map(({ metadata }) => metadata.name);
}

async function act(what: "up" | "fail" | "down"): Promise<void> {
  if (NODE_PROGRAM === undefined) throw new Error("TTYHQ_TEST_NODE names no program");
  // The node has no images of its own.
  await output(NODE_PROGRAM, [what], { env: { IMAGES: IMAGE }, timeoutMs: PROGRAM_TIMEOUT_MS });
}
