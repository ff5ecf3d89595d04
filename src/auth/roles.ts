// The permissions of each role, and the permissions that frames need.
import type { Need } from "../protocol/endpoints/endpoint.ts";
import { ServiceError } from "../protocol/errors.ts";
import { FrameType } from "../protocol/frame/frame.ts";
import type { Role } from "../protocol/schemas/permission.ts";
import { Permission } from "../protocol/schemas/permission.ts";
import type { ShareMode } from "../protocol/schemas/share.ts";

/** All other sessions do not exist for the role. */
type Grant = { readonly sessions: "all" | "own"; readonly permissions: readonly Permission[] };

const VIEWING = ["account:use", "sessions:view", "remotes:view"] as const;
const USING = [
  ...VIEWING,
  ...(["sessions:create", "sessions:control", "sessions:files", "sessions:manage"] as const),
  ...(["repositories:use"] as const),
] as const;

export const ROLES = {
  viewer: { sessions: "own", permissions: VIEWING },
  user: { sessions: "own", permissions: USING },
  operator: { sessions: "all", permissions: [...USING, "servers:cordon", "clients:view", "metrics:view"] },
  auditor: { sessions: "all", permissions: [...VIEWING, "audit:view"] },
  admin: { sessions: "all", permissions: Permission.options },
} as const satisfies Record<Role, Grant>;

/** Of a share link, for its session. */
export const GUESTS = {
  view: ["sessions:view"],
  type: ["sessions:view", "sessions:control"],
} as const satisfies Record<ShareMode, readonly Permission[]>;

/** Of a remote's credential. */
export const REMOTE: readonly Permission[] = ["remotes:register"];

/** The frames that clients may send. */
export const FRAME_NEEDS: ReadonlyMap<number, Need> = new Map<FrameType, Need>([
  [FrameType.HELLO, "login"],
  [FrameType.PING, "login"],
  [FrameType.SUBSCRIBE, "sessions:view"],
  [FrameType.UNSUBSCRIBE, "sessions:view"],
  [FrameType.INPUT_TEXT, "sessions:control"],
  [FrameType.INPUT_KEY, "sessions:control"],
  [FrameType.RESIZE, "sessions:resize"],
  [FrameType.KILL, "sessions:manage"],
  [FrameType.RESET_SIZE, "sessions:resize"],
]);

type OfRole = {
  readonly role: Role;
  /** Limits an API token to these of the role's permissions. */
  readonly scope?: readonly Permission[] | undefined;
};

export type RoleRights = ({ readonly kind: "all" } & OfRole) | ({ readonly kind: "own" } & OfRole);

/** Access to sessions (contract 5.7). */
export type Rights =
  | RoleRights
  /** A remote's credential: registers, refreshes and unregisters that remote. */
  | { readonly kind: "remote"; readonly id: string; readonly name: string }
  | InvitedRights;

/** One session, by a share link. `key` distinguishes it from a later session with the same id. */
export type InvitedRights = {
  readonly kind: "invited";
  readonly session: { readonly id: string; readonly key: string };
  readonly mode: ShareMode;
  /** Whether guests who may type may resize as well. */
  readonly resize?: boolean | undefined;
  /** Output before this offset is hidden; `undefined`: none. */
  readonly from?: number | undefined;
};

export function rightsOf(role: Role): RoleRights {
  return { kind: ROLES[role].sessions, role };
}

export const ALL: RoleRights = rightsOf("admin");
export const OWN: RoleRights = rightsOf("user");

export function permits(rights: Rights, need: Need): boolean {
  if (need === "open") return true;
  if (need === "login") return rights.kind !== "remote";
  if (need === "sessions:resize") {
    return permits(rights, "sessions:control") && (rights.kind !== "invited" || rights.resize === true);
  }
  return permissionsOf(rights).includes(need);
}

/** Throws `forbidden`. */
export function requirePermission(rights: Rights, need: Need): void {
  if (!permits(rights, need)) throw new ServiceError("forbidden", refusalOf(rights, need));
}

export function permissionsOf(rights: Rights): readonly Permission[] {
  if (rights.kind === "remote") return REMOTE;
  if (rights.kind === "invited") return GUESTS[rights.mode];
  const { role, scope } = rights;
  const { permissions } = ROLES[role];
  return scope === undefined ? permissions : permissions.filter((each) => scope.includes(each));
}

/** The types of frames that are refused, each with the reason. */
export function frameRefusals(rights: Rights): ReadonlyMap<number, string> {
  const refused = [...FRAME_NEEDS].filter(([, need]) => !permits(rights, need));
  return new Map(refused.map(([frame, need]) => [frame, refusalOf(rights, need)]));
}

function refusalOf(rights: Rights, need: Need): string {
  if (need === "sessions:resize") return refusalOf(rights, "sessions:control");
  if (rights.kind === "invited") return "a share link opens one session, and allows no more than it says";
  if (rights.kind === "remote") return "this credential registers one remote and does nothing else";
  if (rights.scope !== undefined && permits(rightsOf(rights.role), need)) {
    return `this API token does not have ${need}: its scope is ${rights.scope.join(", ")}`;
  }
  return `the role ${rights.role} does not have ${need}: --role gives users another one`;
}
