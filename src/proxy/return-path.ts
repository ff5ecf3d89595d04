const MAX_LENGTH = 512;
/** One slash, not two, which would name a host; nothing that a browser would read as a slash or leave out. */
const LOCAL_PATH = /^\/(?![/\\])[!-~]*$/;

/** Where to go after a login: a path and query of this host; the beginning for anything else. Never throws. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > MAX_LENGTH || text.includes("\\") || !LOCAL_PATH.test(text))
    return "/";
  // A browser takes dots out of paths: /.//host would become //host.
  const url = URL.parse(text, "https://here.invalid");
  if (url === null || url.host !== "here.invalid" || url.pathname.startsWith("//")) return "/";
  // Not back to where the login was, or the logout.
  return url.pathname === "/.proxy" || url.pathname.startsWith("/.proxy/")
    ? "/"
    : `${url.pathname}${url.search}`;
}
