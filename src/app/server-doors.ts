// All the places that a server is reached at.
import type { Audit } from "../audit/entry.ts";
import type { Gate } from "../auth/gate.ts";
import type { Secret } from "../lib/secret.ts";
import type { ControlDir } from "../sessions/control-dir.ts";
import { openMetricsDoor, openPublicDoor, openServerSocket, type PublicDoor, privateDoors } from "./doors.ts";
import { openProxyDoor } from "./proxy.ts";
import type { Surroundings } from "./surroundings.ts";
import { urlOf } from "./url.ts";

export type ServerDoors = AsyncDisposable & {
  /** Where its page is, as seen from this machine. */
  readonly url: string;
  /** Where the server itself is found on this machine, where `url` is that of its reverse proxy. */
  readonly behind: string | undefined;
  /** Where other machines find the server itself. */
  readonly reachableAt: string;
};

export async function openServerDoors(
  parts: Omit<PublicDoor, "pageDir" | "clientOf"> & {
    readonly surroundings: Surroundings;
    readonly controlDir: ControlDir;
    readonly gate: Gate & { readonly proxyProof: Secret };
    readonly audit: Audit;
  },
): Promise<ServerDoors> {
  const { config, surroundings, controlDir, routes, log } = parts;
  const { account, hostname, pageDir } = surroundings;
  await using stack = new AsyncDisposableStack();
  const proxy = stack.use(await openProxyDoor(parts));
  const { clientOf } = proxy;
  const { port } = stack.use(await openPublicDoor({ ...parts, clientOf, pageDir }));
  proxy.leadTo(port);
  stack.use(await openMetricsDoor(config, routes, log));
  const doors = privateDoors({ ...parts, user: account.user, ready: Promise.resolve() });
  stack.use(await openServerSocket(controlDir, doors, log));
  const own = urlOf(config, "localhost", port);
  const { url = own } = proxy;
  const owned = stack.move();
  return {
    ...{ url, behind: url === own ? undefined : own, reachableAt: urlOf(config, hostname, port) },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
