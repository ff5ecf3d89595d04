import { expect, test } from "vitest";
import { FRAME_NEEDS, frameRefusals, GUESTS, permits, ROLES, rightsOf } from "../../../src/auth/roles.ts";
import type { Endpoint } from "../../../src/protocol/endpoints/endpoint.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { Permission, Role } from "../../../src/protocol/schemas/permission.ts";

const all: readonly (readonly [string, Endpoint])[] = Object.entries(endpoints);
const withNeed = (need: Endpoint["need"]): readonly string[] =>
  all.flatMap(([name, endpoint]) => (endpoint.need === need ? [name] : []));

test("only these endpoints need no login, or no permission", () => {
  expect(withNeed("open")).toEqual([
    ...["health", "livez", "readyz", "ready", "openapi"],
    ...["createToken", "answerLogin", "authConfig", "passwordLogin", "createChallenge", "sshLogin"],
    ...["sshKeyLogin", "avatar", "currentUser", "secondFactor", "joinRemote"],
  ]);
  expect(withNeed("login")).toEqual(["serverStatus", "createWsTicket", "verifyToken"]);
});

test("each role has its permissions, and admin has all", () => {
  const lacking = (role: Role): readonly string[] =>
    Permission.options.filter((permission) => !permits(rightsOf(role), permission));
  const managing = [
    "accounts:manage",
    "remotes:register",
    "remotes:manage",
    "servers:cordon",
    "clients:view",
    "metrics:view",
    "audit:view",
  ];
  const inOrder = (...of: readonly string[]) => Permission.options.filter((each) => of.includes(each));
  const using = [
    "sessions:create",
    "sessions:control",
    "sessions:files",
    "sessions:manage",
    "repositories:use",
  ];
  expect(Object.fromEntries(Role.options.map((role) => [role, lacking(role)]))).toEqual({
    viewer: inOrder(...using, ...managing),
    user: managing,
    operator: ["accounts:manage", "remotes:register", "remotes:manage", "audit:view"],
    auditor: inOrder(...using, ...managing).filter((each) => each !== "audit:view"),
    admin: [],
  });
  expect(Role.options.filter((role) => ROLES[role].sessions === "all")).toEqual([
    "operator",
    "auditor",
    "admin",
  ]);
});

test("a guest may view the session, and type if the link allows it", () => {
  expect(GUESTS).toEqual({ view: ["sessions:view"], type: ["sessions:view", "sessions:control"] });
});

test("a change of a session needs the same permission over /ws and over REST", () => {
  expect(FRAME_NEEDS.get(FrameType.INPUT_TEXT)).toBe(endpoints.inputSession.need);
  expect(FRAME_NEEDS.get(FrameType.INPUT_KEY)).toBe(endpoints.inputSession.need);
  expect(FRAME_NEEDS.get(FrameType.RESIZE)).toBe(endpoints.resizeSession.need);
  expect(FRAME_NEEDS.get(FrameType.KILL)).toBe(endpoints.killSession.need);
  expect(FRAME_NEEDS.get(FrameType.SUBSCRIBE)).toBe(endpoints.sessionOutput.need);
  expect(frameRefusals(rightsOf("auditor")).get(FrameType.KILL)).toContain(
    "auditor does not have sessions:manage",
  );
  expect(frameRefusals(rightsOf("operator")).get(FrameType.KILL)).toBeUndefined();
});
