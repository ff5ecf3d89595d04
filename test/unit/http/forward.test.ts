import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL, OWN, rightsOf } from "../../../src/auth/roles.ts";
import { claimsOf } from "../../../src/http/caller-credentials.ts";
import { type Forwarded, forward } from "../../../src/http/routes/forward.ts";
import type { ClientRequest, ClientResponse } from "../../../src/protocol/client/send.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";

const FORWARDED = ["sessions", "worktrees", "git", "repositories", "health", "cleanup-exited"];

const ADMIN: Principal = { user: "me", method: "token", rights: ALL };

/** The request that the remote gets, and the answer that the client gets. */
async function forwarded(
  request: Partial<Forwarded>,
  more: {
    readonly range?: string;
    readonly lastEventId?: string;
    readonly principal?: Principal;
    readonly address?: string;
    readonly answer?: Partial<ClientResponse>;
  } = {},
) {
  const sent: ClientRequest[] = [];
  const { range, lastEventId, principal = ADMIN, address, answer } = more;
  const media = await forward(
    async (outgoing) => {
      sent.push(outgoing);
      return { status: 200, headers: new Map(), body: nothing(), ...answer };
    },
    { method: "GET", path: ["sessions"], query: {}, body: undefined, ...request },
    { remote: "a", principal, address, range, lastEventId, signal: new AbortController().signal },
  );
  const [outgoing] = sent;
  if (outgoing === undefined) throw new Error("nothing was sent");
  return { ...outgoing, media };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "success",
    (error: { code?: unknown }) => error.code,
  );

test("an API token lets no guests type by a share link on a remote, which would outlive it", async () => {
  const request = {
    method: "PATCH",
    path: ["sessions", "s", "shares", "link"],
    body: { mode: "type" },
  } as const;
  expect((await forwarded(request)).path).toBe("/api/sessions/s/shares/link");
  const principal = { ...ADMIN, method: "api-token" } as const;
  expect(await codeOf(forwarded(request, { principal }))).toBe("forbidden");
});

describe("the path", () => {
  test.each(FORWARDED)("of %s is forwarded, with api in front of it or without", async (name) => {
    expect((await forwarded({ path: [name, "x"] })).path).toBe(`/api/${name}/x`);
    expect((await forwarded({ path: ["api", name, "x"] })).path).toBe(`/api/${name}/x`);
  });

  test.each([
    [[]],
    [["api"]],
    [["api", "api", "sessions"]],
    [["auth", "token"]],
    [["remotes"]],
    [["remotes", "b", "proxy", "sessions"]],
    [["metrics"]],
    [["clients"]],
    [["openapi.json"]],
    [["Sessions"]],
    [["sessions "]],
    [["sessions/../auth"]],
    [["sessions", "..", "auth", "token"]],
    [["sessions", ".", "x"]],
    [["sessions", "", "x"]],
    [["", "sessions"]],
    [["__proto__"]],
  ])("%j is not forwarded", async (path) => {
    expect(await codeOf(forwarded({ path }))).toBe("not_found");
  });

  test("of any segments leads to a forwarded resource, and each segment is preserved", async () => {
    const segment = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "binary-ascii" }),
      fc.constantFrom(
        "..",
        ".",
        "",
        "%2e%2e",
        "..%2f",
        "a/../b",
        "\\..\\",
        "?x=1",
        "#y",
        "a\r\nb",
        "%",
        ";",
        "auth",
      ),
    );
    const path = fc.tuple(fc.constantFrom(...FORWARDED, "api", "auth"), fc.array(segment, { maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(path, async ([first, rest]) => {
        const outcome = await forwarded({ path: [first, ...rest] }).catch((error: unknown) => error);
        if (outcome instanceof ServiceError) {
          expect(outcome.code).toBe("not_found");
          return;
        }
        const { path: sent } = await forwarded({ path: [first, ...rest] });
        // As every server reads it: normalised, then unescaped.
        const { pathname, search, hash, host } = new URL(sent, "http://remote.test");
        expect([host, search, hash]).toEqual(["remote.test", "", ""]);
        const segments = pathname.split("/").slice(1).map(decodeURIComponent);
        expect(segments[0]).toBe("api");
        expect(FORWARDED).toContain(segments[1]);
        expect(segments.slice(1)).toEqual(first === "api" ? rest : [first, ...rest]);
      }),
    );
  });

  test("of a new session is not forwarded: creating one has a limit of its own", async () => {
    expect(await codeOf(forwarded({ method: "POST", body: { command: "cat" } }))).toBe("not_found");
    expect(await codeOf(forwarded({ method: "POST", path: ["api", "sessions"], body: {} }))).toBe(
      "not_found",
    );
    expect(await codeOf(forwarded({ method: "POST", path: ["sessions", "x", "input"], body: {} }))).toBe(
      "success",
    );
  });

  test("of files is not forwarded: the HQ may have turned them off", async () => {
    for (const method of ["GET", "POST"] as const)
      for (const path of [
        ["sessions", "x", "files"],
        ["api", "sessions", "x", "files"],
      ])
        expect(await codeOf(forwarded({ method, path, query: { path: "a", name: "a" } }))).toBe("not_found");
  });

  test("of a new share link is not forwarded: on the remote it would outlive the API token that made it", async () => {
    for (const path of [
      ["sessions", "x", "share"],
      ["api", "sessions", "x", "share"],
    ])
      expect(await codeOf(forwarded({ method: "POST", path, body: { mode: "type" } }))).toBe("not_found");
    const path = ["sessions", "x", "shares", "y"];
    expect((await forwarded({ method: "DELETE", path })).path).toBe("/api/sessions/x/shares/y");
  });
});

describe("the query", () => {
  test("is forwarded, including repeated parameters", async () => {
    const { path } = await forwarded({ query: { repoPath: "/a b", at: ["1", "2"] } });
    expect(path).toBe("/api/sessions?repoPath=%2Fa+b&at=1&at=2");
  });

  test("has no token of the client, and cannot become a path or another parameter", async () => {
    const value = fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 3 }));
    const query = fc.dictionary(fc.oneof(fc.string(), fc.constant("token")), value);
    await fc.assert(
      fc.asyncProperty(query, async (asked) => {
        const { path } = await forwarded({ query: asked });
        const { pathname, searchParams } = new URL(path, "http://remote.test");
        expect(pathname).toBe("/api/sessions");
        expect(searchParams.has("token")).toBe(false);
        const expected = Object.entries(asked)
          .filter(([name]) => name !== "token")
          .flatMap(([name, values]) => [values].flat().map((one) => [name, one]));
        expect([...searchParams]).toEqual(expected);
      }),
    );
  });
});

describe("the request", () => {
  test("has the method and the body, as JSON", async () => {
    const path = ["sessions", "x"];
    const { method, body, headers } = await forwarded({ method: "PATCH", path, body: { name: "é" } });
    expect({ method, body, headers }).toEqual({
      method: "PATCH",
      body: '{"name":"é"}',
      headers: { "content-type": "application/json" },
    });
  });

  test("has the client's range and last event, and no other header: no login, cookie or forwarding", async () => {
    const { headers } = await forwarded({}, { range: "bytes=0-5", lastEventId: "7" });
    expect(headers).toEqual({ range: "bytes=0-5", "last-event-id": "7" });
    expect((await forwarded({})).headers).toEqual({});
  });
});

describe("the answer", () => {
  test("has the remote's status, type, length and only the headers for the client", async () => {
    const headers = new Map([
      ["content-type", "application/x-asciicast"],
      ["content-length", "3"],
      ["content-disposition", 'attachment; filename="x.cast"'],
      ["content-range", "bytes 0-2/9"],
      ["set-cookie", "a=b"],
      ["location", "http://elsewhere.test"],
      ["www-authenticate", "Bearer"],
      ["access-control-allow-origin", "*"],
    ]);
    const { media } = await forwarded({}, { answer: { status: 206, headers } });
    expect(media).toMatchObject({ status: 206, type: "application/x-asciicast", length: 3 });
    expect(media.headers).toEqual({
      "content-disposition": 'attachment; filename="x.cast"',
      "content-range": "bytes 0-2/9",
    });
  });

  test("that is an error of the remote is forwarded unchanged", async () => {
    const { media } = await forwarded({}, { answer: { status: 404 } });
    expect(media.status).toBe(404);
  });

  test("that the remote refuses this HQ's token is not a 401 for the client, and frees the connection", async () => {
    let isRead = false;
    const body = (async function* () {
      yield new Uint8Array([1]);
      isRead = true;
    })();
    expect(await codeOf(forwarded({}, { answer: { status: 401, body } }))).toBe("remote_unreachable");
    expect(isRead).toBe(true);
  });
});

describe("a remote", () => {
  const request: Forwarded = { method: "GET", path: ["sessions"], query: {}, body: undefined };
  const nobody = { principal: ADMIN, address: undefined, range: undefined, lastEventId: undefined };

  test("that is unreachable is remote_unreachable and named", async () => {
    const refused = async (): Promise<never> => {
      throw new ServiceError("host_unreachable", "no answer: connection refused");
    };
    const signal = new AbortController().signal;
    const work = forward(refused, request, { ...nobody, signal, remote: "worker-3" });
    await expect(work).rejects.toMatchObject({
      code: "remote_unreachable",
      message: "remote worker-3 is unreachable: no answer: connection refused",
    });
  });

  test("that hangs is given up when the client disconnects", async () => {
    const gone = new AbortController();
    const sent: AbortSignal[] = [];
    const hang = ({ signal }: ClientRequest): Promise<never> => {
      sent.push(signal);
      return new Promise(() => {});
    };
    const work = forward(hang, request, { ...nobody, signal: gone.signal, remote: "a" });
    gone.abort();
    await expect(work).rejects.toMatchObject({ name: "AbortError" });
    expect(sent.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

describe("the user of a forwarded request", () => {
  test("is not named for callers with all rights", async () => {
    expect((await forwarded({})).headers).not.toHaveProperty("ttyhq-on-behalf-of");
  });

  test("is named for all other callers, whatever the name", async () => {
    const principal: Principal = { user: "ädä\r\nx: y", method: "token", rights: OWN };
    const { headers } = await forwarded({}, { principal });
    expect(headers).toMatchObject({ "ttyhq-on-behalf-of": "%C3%A4d%C3%A4%0D%0Ax%3A%20y" });
  });

  test.each(["ada", "ada@example.com", "ada%40example.com", "100%", "ädä 😀"])(
    "is known to the remote by the name that it has here: %s",
    async (user) => {
      const principal: Principal = { user, method: "token", rights: OWN };
      const { headers } = await forwarded({}, { principal });
      const where = { queryToken: undefined, address: undefined, place: "api" } as const;
      expect(claimsOf({ headers: { ...headers }, socket: {} }, where).onBehalfOf).toBe(user);
    },
  );
});

describe("for an operator, who reaches all sessions", () => {
  const principal: Principal = { user: "eve", method: "token", rights: rightsOf("operator"), owner: "eve" };

  test("all sessions are accessible, and repositories are opened as the operator", async () => {
    const session = await forwarded({ path: ["sessions", "s1"] }, { principal });
    expect(session.headers).not.toHaveProperty("ttyhq-on-behalf-of");
    const worktrees = await forwarded({ path: ["worktrees"] }, { principal });
    expect(worktrees.headers).toMatchObject({ "ttyhq-on-behalf-of": "eve" });
  });

  test("unknown endpoints are not forwarded", async () => {
    await expect(forwarded({ path: ["git", "unheard-of"] }, { principal })).rejects.toThrow("remotes:manage");
  });
});

describe("the reader of a remote's notifications", () => {
  const readerOf = async (more: Parameters<typeof forwarded>[1], client?: string): Promise<string> => {
    const query = client === undefined ? {} : { client };
    const { path } = await forwarded({ path: ["git", "notifications"], query }, more);
    return new URL(path, "http://a").searchParams.get("client") ?? "";
  };
  const token = (tokenId: string): Principal => ({ ...ADMIN, tokenId });

  test("is distinguished by login, address and the client's own name", async () => {
    const readers = await Promise.all([
      readerOf({ principal: token("1") }),
      readerOf({ principal: token("2") }),
      readerOf({ principal: token("1") }, "tab"),
      readerOf({ address: "192.0.2.1" }),
      readerOf({ address: "192.0.2.2" }),
      readerOf({ principal: { user: "other", method: "token", rights: OWN }, address: "192.0.2.1" }),
    ]);
    expect(new Set(readers).size).toBe(readers.length);
    expect(readers.every((reader) => reader.length > 20 && reader.length <= 128)).toBe(true);
  });

  test("is the same for a login from any address", async () => {
    const one = await readerOf({ principal: token("1"), address: "192.0.2.1" });
    expect(await readerOf({ principal: token("1"), address: "192.0.2.2" })).toBe(one);
  });
});
