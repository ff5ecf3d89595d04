// What of an HTTP request two programs could read in two ways (RFC 9112, 11): refused, however harmless it may be here.
import { ServiceError } from "../../protocol/errors.ts";
import { parseHost } from "./origin.ts";

export type RequestHead = {
  readonly url?: string | undefined;
  readonly httpVersionMajor: number;
  readonly httpVersion: string;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly headers: { readonly host?: string | undefined; readonly "transfer-encoding"?: string | undefined };
};

/** Who asks, whom, and how long it is: said once, or not at all. */
const ONCE: ReadonlySet<string> = new Set([
  "authorization",
  "content-length",
  "host",
  "origin",
  "transfer-encoding",
]);
const MAX_HEADERS = 256;
/** A target that names its host as well (RFC 9112, 3.2.2). */
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/** Throws `invalid_request`, and `headers_too_large` for more than 256 headers. */
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
    if (!ONCE.has(name)) continue;
    if (seen.has(name)) throw refusal(`the header ${name} came twice`);
    seen.add(name);
  }
}

/** One host, be it in the header or in the target; none only where HTTP/1.0 allows it. */
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
