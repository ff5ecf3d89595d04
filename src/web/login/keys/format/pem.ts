// The armour of key files (RFC 7468): BEGIN line, base64, END line.

import { keyRefusal, malformedKey } from "../key-refusal.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";

export type Pem = { readonly label: string; readonly bytes: Uint8Array<ArrayBuffer> };

/** A key takes 400 characters; longer text is something else. */
export const MAX_KEY_FILE_CHARACTERS = 65_536;
const LINE_CHARACTERS = 64;
const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,64})-----/g;
const END = /^-----END ([A-Z0-9 ]{1,64})-----$/;

/**
 * Parses text with exactly one block. Line ends may have become spaces. `check` may refuse the label before the rest is
 * parsed. Throws ServiceError `invalid_request` for anything else.
 */
export function readPem(text: string, check: (label: string) => void): Pem {
  const [begin, another] = text.matchAll(BEGIN);
  if (begin === undefined) throw keyRefusal("this is not a key file: it has no line -----BEGIN … KEY-----");
  if (another !== undefined) throw keyRefusal("this contains several keys: import one at a time");
  const [line, label = ""] = begin;
  check(label);
  if (text.slice(0, begin.index).trim() !== "") {
    throw keyRefusal("there is text before the key: remove everything before -----BEGIN");
  }
  return { label, bytes: readBody(text.slice(begin.index + line.length), label) };
}

/** Lines end with a line feed, the last one too. */
export function writePem({ label, bytes }: { readonly label: string; readonly bytes: Uint8Array }): string {
  const lines = encodeBase64(bytes).match(new RegExp(`.{1,${LINE_CHARACTERS}}`, "g")) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** The text after the BEGIN line. */
function readBody(rest: string, label: string): Uint8Array<ArrayBuffer> {
  const at = rest.indexOf("-----END");
  if (at === -1) throw keyRefusal(`the key is truncated: it does not end with -----END ${label}-----`);
  const line = rest.slice(at).trimEnd();
  const end = END.exec(line);
  if (end === null) {
    const isLonger = line.startsWith(`-----END ${label}-----`);
    throw isLonger
      ? keyRefusal("there is text after the key: remove it")
      : malformedKey("its END line is incomplete");
  }
  if (end[1] !== label) throw keyRefusal("the BEGIN and END lines of the key do not match");
  const bytes = decodeBase64(rest.slice(0, at).replace(/\s+/g, ""));
  if (bytes === undefined) throw malformedKey("the content between its BEGIN and END lines is not base64");
  if (bytes.length === 0) throw keyRefusal("there is nothing between the BEGIN and the END line");
  return bytes;
}
