// The HQ's record of one of its machines.

import type { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import type { RemoteRecord } from "../../../src/protocol/schemas/remote.ts";

export async function machineOf(
  { api }: Pick<ServerClient, "api">,
  name: string,
): Promise<RemoteRecord | undefined> {
  return (await api.call(endpoints.listRemotes)).find((remote) => remote.name === name);
}

/** Throws if it is not registered. */
export async function knownMachine(client: Pick<ServerClient, "api">, name: string): Promise<RemoteRecord> {
  const record = await machineOf(client, name);
  if (record === undefined) throw new Error(`no remote is registered as ${name}`);
  return record;
}
