import { z } from "zod";

/** What somebody who is logged in may do; which permissions that is says auth/roles.ts. */
export const Role = z.enum(["viewer", "user", "operator", "auditor", "admin"]);
export type Role = z.infer<typeof Role>;

/** `--role`: the role of a user (`*`: of everybody whom no other rule names), or of the members of a group. */
export type RoleRule =
  | { readonly user: string; readonly role: Role }
  | { readonly group: string; readonly role: Role };
