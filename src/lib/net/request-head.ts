// Refuses HTTP requests that two programs could parse differently (RFC 9112, 11), harmless or not.
import type { IncomingMessage } from "node:http";
import { ServiceError } from "../../protocol/errors.ts";
import { parseHost } from "./origin.ts";

export type RequestHead = Pick<
  IncomingMessage,
  "url" | "httpVersionMajor" | "httpVersion" | "rawHeaders" | "headers"
>;

const ONCE: readonly string[] = ["authorization", "content-length", "host", "origin", "transfer-encoding"];
const MAX_HEADERS = 256;
/** A target with host (RFC 9112, 3.2.2). */
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/** The path in a request's target, which may begin with scheme and host, without query and fragment. */
export function pathOf(url: string): string {
  const [path = ""] = url.replace(ABSOLUTE, "").split(/[?#]/, 1);
  return path === "" ? "/" : path;
}

/** ServiceError `invalid_request`, or `headers_too_large` for more than 256 headers. */
export function refuseAmbiguous(head: RequestHead): void {
  const { httpVersionMajor, rawHeaders } = head;
  if (httpVersionMajor < 1) throw refusal("this is HTTP/0.9: speak HTTP/1.1");
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    throw new ServiceError("headers_too_large", `a request has at most ${MAX_HEADERS} headers`);
  }
  refuseTwice(rawHeaders);
  const coding = head.headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw refusal("the one transfer coding known here is chunked");
  }
  refuseOddHost(head);
}

function refuseTwice(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? "";
    if (!ONCE.includes(name)) continue;
    if (seen.has(name)) throw refusal(`the header ${name} came twice`);
    seen.add(name);
  }
}

/** One host, in the header or in the target; without one only in HTTP/1.0. */
function refuseOddHost({ url = "", httpVersion, headers: { host } }: RequestHead): void {
  if (host === undefined && httpVersion !== "1.0") throw refusal("the header Host is missing");
  if (host !== undefined && host !== "" && parseHost(host) === undefined) {
    throw refusal("the header Host names no host");
  }
  if (url.startsWith("/") || url === "*") return;
  const named = ABSOLUTE.exec(url)?.[1];
  if (named === undefined || named.toLowerCase() !== host?.toLowerCase()) {
    throw refusal("ask for a path of this server, which begins with a slash");
  }
}

function refusal(message: string): ServiceError {
  return new ServiceError("invalid_request", message);
}
