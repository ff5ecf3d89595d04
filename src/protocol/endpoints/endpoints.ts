// Every endpoint of the service, as data. The handlers are in http/routes, one for each name.
import { auditEndpoints } from "./audit.ts";
import { authEndpoints } from "./auth.ts";
import { followEndpoints } from "./follow.ts";
import { gitEndpoints } from "./git.ts";
import { joinEndpoints } from "./join.ts";
import { loginEndpoints } from "./login.ts";
import { passkeyEndpoints } from "./passkey.ts";
import { remoteEndpoints } from "./remote.ts";
import { serverEndpoints } from "./server.ts";
import { sessionEndpoints } from "./session.ts";
import { shareEndpoints } from "./share.ts";
import { vibeTunnelEndpoints } from "./vibetunnel.ts";

export const endpoints = {
  ...vibeTunnelEndpoints,
  ...sessionEndpoints,
  ...shareEndpoints,
  ...serverEndpoints,
  ...auditEndpoints,
  ...authEndpoints,
  ...loginEndpoints,
  ...passkeyEndpoints,
  ...remoteEndpoints,
  ...joinEndpoints,
  ...gitEndpoints,
  ...followEndpoints,
};

export type Endpoints = typeof endpoints;
export type EndpointName = keyof Endpoints;
