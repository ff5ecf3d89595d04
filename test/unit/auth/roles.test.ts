import { expect, test } from "vitest";
import {
  ENDPOINT_NEEDS,
  FRAME_NEEDS,
  frameRefusals,
  GUESTS,
  permits,
  ROLES,
  rightsOf,
} from "../../../src/auth/roles.ts";
import type { Endpoint } from "../../../src/protocol/endpoints/endpoint.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { Permission, Role } from "../../../src/protocol/schemas/permission.ts";

const all: readonly (readonly [string, Endpoint])[] = Object.entries(endpoints);

test.each(all)("%s needs a permission if, and only if, it needs a login", (name, endpoint) => {
  const need = Object.entries(ENDPOINT_NEEDS).find(([each]) => each === name)?.[1];
  expect(need === "open").toBe(endpoint.access === "open");
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
  expect(FRAME_NEEDS.get(FrameType.INPUT_TEXT)).toBe(ENDPOINT_NEEDS.inputSession);
  expect(FRAME_NEEDS.get(FrameType.INPUT_KEY)).toBe(ENDPOINT_NEEDS.inputSession);
  expect(FRAME_NEEDS.get(FrameType.RESIZE)).toBe(ENDPOINT_NEEDS.resizeSession);
  expect(FRAME_NEEDS.get(FrameType.KILL)).toBe(ENDPOINT_NEEDS.killSession);
  expect(FRAME_NEEDS.get(FrameType.SUBSCRIBE)).toBe(ENDPOINT_NEEDS.sessionOutput);
  expect(frameRefusals(rightsOf("auditor")).get(FrameType.KILL)).toContain(
    "auditor does not have sessions:manage",
  );
  expect(frameRefusals(rightsOf("operator")).get(FrameType.KILL)).toBeUndefined();
});
