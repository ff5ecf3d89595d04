/** `undefined` for invalid JSON, which a schema then reports. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === "string" ? json : new TextDecoder().decode(json));
  } catch {
    return undefined;
  }
}
