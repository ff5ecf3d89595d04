// The audit log as auditors read it.
import { z } from "zod";
import { MAX_AUDIT_PAGE } from "../limits.ts";

/** "refused": not allowed. "failed": allowed, but not done. */
export const AuditResult = z.enum(["ok", "refused", "failed"]);
export type AuditResult = z.infer<typeof AuditResult>;

/** All conditions must be met. */
export const AuditQuery = z.object({
  since: z.iso.datetime({ offset: true }).optional().describe("not before this time"),
  until: z.iso.datetime({ offset: true }).optional().describe("before this time"),
  user: z.string().max(256).optional(),
  action: z.string().max(64).optional().describe("such as login or session.create"),
  session: z.string().max(256).optional().describe("id of a session"),
  result: AuditResult.optional(),
  limit: z.coerce.number().int().min(1).max(MAX_AUDIT_PAGE).default(100),
  cursor: z
    .string()
    .regex(/^\d{1,16}\.\d{1,16}$/)
    .optional()
    .describe("`next` of the previous page"),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

/** A line of the audit log without its hash; docs/security.md lists the actions. */
export const AuditRecord = z.object({
  seq: z.int().positive().optional().describe("absent in lines of earlier versions"),
  time: z.string(),
  action: z.string(),
  result: z.string(),
  user: z.string().optional(),
  method: z.string().optional(),
  address: z.string().optional(),
  requestId: z.string().optional(),
  session: z.string().optional(),
  remote: z.string().optional(),
  hq: z.string().optional().describe("of HQs that share a registry: the host of the one that wrote it"),
  details: z.record(z.string(), z.unknown()).optional(),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

export const AuditPage = z.object({
  entries: z.array(AuditRecord).describe("newest first; may be fewer than the limit although there are more"),
  next: z.string().optional().describe("cursor of the next page; absent on the last page"),
});
export type AuditPage = z.infer<typeof AuditPage>;
