// The page's files, read once at startup so that requests need no disk access.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { extname, join, relative } from "node:path";
import { unlessMissing } from "../lib/fs/atomic-file.ts";

const YEAR_S = 31_536_000;

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

/** File extensions of the compressed files that the build makes, best coding first. */
const CODINGS = { br: ".br", gzip: ".gz" } as const;

type Body = { readonly bytes: Uint8Array; readonly etag: string; readonly headers: OutgoingHttpHeaders };
/** `compressed`: the same body, best coding first. */
type PageFile = Body & { readonly compressed: readonly (Body & { readonly coding: string })[] };

export type PageFiles = ReadonlyMap<string, PageFile>;

/** Without hidden files; empty if the folder does not exist. */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  const options = { recursive: true, withFileTypes: true } as const;
  const entries = (await readdir(folder, options).catch(unlessMissing)) ?? [];
  const files = new Map<string, PageFile>();
  for (const entry of entries) {
    const path = relative(folder, join(entry.parentPath, entry.name));
    if (!entry.isFile() || /(?:^|\/)\./.test(path)) continue;
    if (Object.values(CODINGS).some((ending) => path.endsWith(ending))) continue;
    const file = await readPageFile(folder, path);
    files.set(`/${path}`, file);
    if (path === "index.html") files.set("/", file);
  }
  return files;
}

async function readPageFile(folder: string, path: string): Promise<PageFile> {
  const compressed: (Body & { readonly coding: string })[] = [];
  for (const [coding, ending] of Object.entries(CODINGS)) {
    const bytes = await readFile(join(folder, `${path}${ending}`)).catch(unlessMissing);
    if (bytes !== undefined) compressed.push({ coding, ...bodyOf(path, bytes, coding) });
  }
  return { ...bodyOf(path, await readFile(join(folder, path))), compressed };
}

/** Files with a hash in their names never change; the others are revalidated each time. */
function bodyOf(path: string, bytes: Uint8Array, coding?: string): Body {
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const isHashed = path.startsWith("assets/");
  const headers = {
    etag,
    "content-type": TYPES[extname(path)] ?? "application/octet-stream",
    "content-length": bytes.length,
    "cache-control": isHashed ? `public, max-age=${YEAR_S}, immutable` : "no-cache",
    vary: "accept-encoding",
    ...(coding === undefined ? {} : { "content-encoding": coding }),
  };
  return { bytes, etag, headers };
}

type PageRequest = Pick<IncomingMessage, "method" | "headers"> & {
  readonly path: string;
  acceptsEncodings(coding: string): string | false;
};

/** Returns false if the request is for none of these files. */
export function sendPageFile(
  files: PageFiles,
  request: PageRequest,
  response: Pick<ServerResponse, "writeHead">,
): boolean {
  const { method, path, headers } = request;
  const file = method === "GET" || method === "HEAD" ? files.get(path) : undefined;
  if (file === undefined) return false;
  const body = file.compressed.find(({ coding }) => request.acceptsEncodings(coding)) ?? file;
  const known = headers["if-none-match"]?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known?.some((tag) => tag === body.etag || tag === "*")) {
    const { "content-length": _, ...others } = body.headers;
    response.writeHead(304, others).end();
  } else response.writeHead(200, body.headers).end(body.bytes);
  return true;
}
