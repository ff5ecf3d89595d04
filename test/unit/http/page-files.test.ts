import { once } from "node:events";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import express from "express";
import { expect, test } from "vitest";
import { readPageFiles, sendPageFile } from "../../../src/http/page-files.ts";

/** A server of a small page whose files are gone when it starts. */
async function servePage() {
  const app = express();
  const server = createServer(app);
  {
    await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-page-"));
    await mkdir(join(directory.path, "assets"));
    await writeFile(join(directory.path, "index.html"), "<p>page</p>");
    await writeFile(join(directory.path, ".hidden"), "secret");
    const script = join(directory.path, "assets", "app-1234.js");
    await writeFile(script, "run()");
    await writeFile(`${script}.br`, brotliCompressSync("run()"));
    await writeFile(`${script}.gz`, gzipSync("run()"));
    const files = await readPageFiles(directory.path);
    app.use((request, response) => {
      if (!sendPageFile(files, request, response)) response.writeHead(404).end();
    });
  }
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server does not listen");
  return {
    get: async (path: string, init?: RequestInit) => {
      const answer = await fetch(`http://127.0.0.1:${address.port}${path}`, init);
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("a page is served from memory, each file with its type and caching", async () => {
  await using page = await servePage();
  const index = await page.get("/");
  expect([index.status, index.text]).toEqual([200, "<p>page</p>"]);
  expect(Object.fromEntries(index.headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "content-length": "11",
    "cache-control": "no-cache",
  });
  const script = await page.get("/assets/app-1234.js");
  expect([script.status, script.text]).toEqual([200, "run()"]);
  expect(Object.fromEntries(script.headers)).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
  });
  expect(await page.get("/index.html", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
});

test("a client that has the file gets 304", async () => {
  await using page = await servePage();
  const etag = (await page.get("/")).headers.get("etag") ?? "";
  for (const known of [etag, `"other", W/${etag}`, "*"])
    expect(await page.get("/", { headers: { "if-none-match": known } })).toMatchObject({
      status: 304,
      text: "",
    });
  expect((await page.get("/", { headers: { "if-none-match": '"other"' } })).status).toBe(200);
});

test("a compressed file is sent to clients that accept its coding", async () => {
  await using page = await servePage();
  const get = async (codings: string) => {
    const answer = await page.get("/assets/app-1234.js", { headers: { "accept-encoding": codings } });
    expect([answer.text, answer.headers.get("vary")]).toEqual(["run()", "accept-encoding"]);
    return answer.headers;
  };
  const sent = await Promise.all(["gzip, br", "br;q=0, gzip;q=0.5", "deflate", ""].map(get));
  expect(sent.map((headers) => headers.get("content-encoding"))).toEqual(["br", "gzip", null, null]);
  expect(new Set(sent.map((headers) => headers.get("etag"))).size).toBe(3);
  for (const ending of ["br", "gz"])
    expect((await page.get(`/assets/app-1234.js.${ending}`)).status).toBe(404);
});

test("hidden files, folders and other methods are not the page's", async () => {
  await using page = await servePage();
  for (const path of ["/.hidden", "/assets", "/assets/", "/assets/../.hidden", "/nothing", "/constructor"])
    expect([path, (await page.get(path)).status]).toEqual([path, 404]);
  expect((await page.get("/", { method: "POST" })).status).toBe(404);
});

test("a missing folder has no files", async () => {
  expect((await readPageFiles("/nonexistent/page")).size).toBe(0);
});

test("a long list of accepted codings is not slow to read", async () => {
  await using page = await servePage();
  const startedAt = performance.now();
  const codings = `gzip${" ".repeat(15_000)}br`;
  await page.get("/assets/app-1234.js", { headers: { "accept-encoding": codings } });
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});
