import { z } from "zod";
import type { Access } from "../../../packages/testing/src/access.ts";
import type { Kubectl } from "./kubectl.ts";
import { PortForward } from "./port-forward.ts";

const SERVICE = "ttyhq-hq";
const PORT = 4020;

const Service = z.object({ spec: z.object({ ports: z.array(z.object({ nodePort: z.int() })) }) });
const Secret = z.object({ data: z.record(z.string(), z.string()) });

/** By the address of the oldest node, which does not depend on the HQ's pods. */
export async function plainAccess(kubectl: Kubectl): Promise<Access> {
  const { spec } = await kubectl.get(Service, "service", SERVICE);
  const [oldest] = await kubectl.nodes();
  const address = oldest?.status.addresses.find(({ type }) => type === "InternalIP")?.address;
  return { url: `http://${address}:${spec.ports[0]?.nodePort}`, credentials: await login(kubectl) };
}

/** By a name in the certificate, during the life of the HQ's pod. The forward goes onto the stack. */
export async function encryptedAccess(kubectl: Kubectl, stack: AsyncDisposableStack): Promise<Access> {
  const { port } = stack.use(await PortForward.open(kubectl, SERVICE, PORT));
  const ca = await secret(kubectl, "ttyhq-ca", "ca.crt");
  return { url: `https://localhost:${port}`, credentials: await login(kubectl), ca };
}

async function login(kubectl: Kubectl) {
  const [username, password] = await Promise.all(
    ["username", "password"].map((key) => secret(kubectl, "ttyhq-login", key)),
  );
  return { username: username ?? "", password: password ?? "" };
}

async function secret(kubectl: Kubectl, name: string, key: string): Promise<string> {
  const { data } = await kubectl.get(Secret, "secret", name);
  return Buffer.from(data[key] ?? "", "base64").toString("utf8");
}
