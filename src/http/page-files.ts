// The page's files, read once at startup so that requests need no disk access.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { extname, join, relative } from "node:path";
import { isErrno } from "../lib/fs/atomic-file.ts";

const YEAR_S = 31_536_000;

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

type PageFile = { readonly bytes: Uint8Array; readonly etag: string; readonly headers: OutgoingHttpHeaders };

/** By request path. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** Without hidden files; empty if the folder does not exist. */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  });
  const files = new Map<string, PageFile>();
  for (const entry of entries) {
    const path = relative(folder, join(entry.parentPath, entry.name));
    if (!entry.isFile() || /(?:^|\/)\./.test(path)) continue;
    const file = pageFile(path, await readFile(join(folder, path)));
    files.set(`/${path}`, file);
    if (path === "index.html") files.set("/", file);
  }
  return files;
}

/** Files with a hash in their names never change; the others are revalidated each time. */
function pageFile(path: string, bytes: Uint8Array): PageFile {
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const isHashed = path.startsWith("assets/");
  const headers = {
    etag,
    "content-type": TYPES[extname(path)] ?? "application/octet-stream",
    "content-length": bytes.length,
    "cache-control": isHashed ? `public, max-age=${YEAR_S}, immutable` : "no-cache",
  };
  return { bytes, etag, headers };
}

/** Returns false if the request is for none of these files. */
export function sendPageFile(
  files: PageFiles,
  { method, path, headers }: Pick<IncomingMessage, "method" | "headers"> & { readonly path: string },
  response: Pick<ServerResponse, "writeHead">,
): boolean {
  const file = method === "GET" || method === "HEAD" ? files.get(path) : undefined;
  if (file === undefined) return false;
  const known = headers["if-none-match"]?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known?.some((tag) => tag === file.etag || tag === "*")) {
    const { "content-length": _, ...others } = file.headers;
    response.writeHead(304, others).end();
  } else response.writeHead(200, file.headers).end(file.bytes);
  return true;
}
