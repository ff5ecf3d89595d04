/** Undefined unless the text, or the UTF-8 bytes, are JSON. */
export function parseJson(json: string | Uint8Array): unknown {
  const text = typeof json === "string" ? json : new TextDecoder().decode(json);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
