import { z } from "zod";

/** An http(s) origin (contract 6.1): no credentials, path, query or fragment. */
export const RemoteUrl = z
  .string()
  .max(2048)
  .refine(isOrigin, "must be http(s)://host[:port] and nothing more");

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  return (
    isHttp && url.username === "" && url.password === "" && (text === url.origin || text === `${url.origin}/`)
  );
}

export const RemoteName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
  );

/** The remote and source of the HQ's own sessions (contract 2.2, 6.5). */
export const LOCAL = "local";

function isNotLocal(name: string): boolean {
  return name !== LOCAL;
}

/** The name of a remote other than the HQ itself. */
export const NewRemoteName = RemoteName.refine(isNotLocal, "is reserved for the HQ itself");

/** One label of a remote, written `key=value`. */
export const LabelKey = z
  .string()
  .regex(/^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/, "1 to 63 letters, digits and ._/-");
export const LabelValue = z.string().regex(/^[A-Za-z0-9._-]{0,63}$/, "at most 63 letters, digits and ._-");
const MAX_LABELS = 32;

/** Labels of a remote, such as `gpu=true`, which a new session may require. */
export const Labels = z
  .record(LabelKey, LabelValue)
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `at most ${MAX_LABELS} labels`);
export type Labels = Readonly<z.infer<typeof Labels>>;

/** The url of remotes that dial their HQ: no address leads to them, and nobody can own this name (RFC 2606). */
export const DIALLED_URL = "http://dialled.invalid";

/** The path of such a remote's WebSocket to its HQ, with its id. */
export function tunnelPath(remoteId: string): string {
  return `/api/remotes/${encodeURIComponent(remoteId)}/tunnel`;
}

export function tunnelOwner(path: string): string | undefined {
  return /^\/api\/remotes\/([A-Za-z0-9_-]{1,64})\/tunnel$/.exec(path)?.[1];
}

/** The body of POST /api/remotes/register (specification 2.2). */
export const RegisterRemote = z.object({
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .refine(isNotLocal, "is reserved for the HQ itself"),
  name: NewRemoteName,
  url: RemoteUrl.transform((text) => new URL(text).origin),
  token: z
    .string()
    .max(4096)
    .regex(/^[\x21-\x7e]+$/, "visible ASCII characters: it becomes a header")
    .describe("the HQ's credential for requests to the remote"),
  cordoned: z.boolean().optional().describe("whether the remote starts no new sessions"),
  labels: Labels.optional(),
});
export type RegisterRemote = z.infer<typeof RegisterRemote>;

/** A remote as clients see it (specification 2.1), without its token. Times are ISO 8601. */
export const RemoteRecord = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  registeredAt: z.string(),
  lastHeartbeat: z.string(),
  sessionIds: z.array(z.string()),
  cordoned: z.boolean().optional().describe("true while the remote starts no new sessions"),
  labels: Labels.optional(),
  status: z
    .enum(["up", "suspect", "down"])
    .optional()
    .describe("suspect: it did not answer the last health check; down: removed for that, with down=1"),
  version: z.string().optional().describe("of its software, as of the last health check, like the next two"),
  load: z.number().optional().describe("load average of the last minute, per CPU"),
  latencyMs: z.number().optional().describe("time of its answer over a new connection"),
  conflicts: z.array(z.string()).optional().describe("ids of its sessions that another remote has already"),
});
export type RemoteRecord = z.infer<typeof RemoteRecord>;

/** The body of POST /api/cordon, and of POST /api/remotes/:name/cordon at an HQ. */
export const SetCordon = z.object({
  cordoned: z.boolean().describe("true: start no new sessions; false: start them again"),
  untilRestart: z.boolean().optional().describe("forget it when the server restarts"),
});
export type SetCordon = z.infer<typeof SetCordon>;
