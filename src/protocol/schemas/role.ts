import { z } from "zod";

/** auth/roles.ts has the permissions of each role. */
export const Role = z.enum(["viewer", "user", "operator", "auditor", "admin"]);
export type Role = z.infer<typeof Role>;

/** `--role`: the role of a user (`*`: of all others), or of the members of a group. */
export type RoleRule =
  | { readonly user: string; readonly role: Role }
  | { readonly group: string; readonly role: Role };
