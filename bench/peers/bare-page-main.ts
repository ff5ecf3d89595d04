// A minimal terminal in a browser: xterm.js, node-pty, a WebSocket, and the flow control of the xterm.js manual.
// Arguments: the program that runs in every session. `?renderer=webgl` draws by WebGL.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import pty from "node-pty";
import { WebSocketServer } from "ws";

/** Sent and unparsed bytes: more pauses the program, less resumes it. */
const HIGH_BYTES = 128 * 1024;
const LOW_BYTES = 16 * 1024;

const PAGE = `<!doctype html><meta charset="utf-8"><title>bare</title>
<link rel="stylesheet" href="/@xterm/xterm/css/xterm.css">
<style>html, body, #pane { margin: 0; height: 100%; overflow: hidden; background: #000 }</style>
<div id="pane"></div>
<script type="module">
import { Terminal } from "/@xterm/xterm/lib/xterm.mjs";
import { FitAddon } from "/@xterm/addon-fit/lib/addon-fit.mjs";
import { WebglAddon } from "/@xterm/addon-webgl/lib/addon-webgl.mjs";
const query = new URLSearchParams(location.search);
const terminal = new Terminal({ scrollback: 10_000, fontSize: 14 });
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(document.getElementById("pane"));
if (query.get("renderer") === "webgl") terminal.loadAddon(new WebglAddon());
fit.fit();
query.set("cols", terminal.cols);
query.set("rows", terminal.rows);
const socket = new WebSocket("ws://" + location.host + "/?" + query);
socket.binaryType = "arraybuffer";
socket.onmessage = ({ data }) => {
  terminal.write(new Uint8Array(data), () => socket.send(String(data.byteLength)));
};
terminal.onData((data) => socket.send("k" + data));
terminal.focus();
window.lastLine = () => {
  const { active } = terminal.buffer;
  return active.getLine(active.viewportY + terminal.rows - 1)?.translateToString(true) ?? "";
};
</script>`;

const modules = join(import.meta.dirname, "../../node_modules");
const TYPES = [
  [".css", "text/css"],
  [".mjs", "text/javascript"],
] as const;

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const type = TYPES.find(([ending]) => pathname.endsWith(ending))?.[1];
  response.setHeader("content-type", type ?? "text/html");
  response.end(type === undefined ? PAGE : readFileSync(join(modules, pathname)));
});

new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket, request) => {
  const query = new URL(request.url ?? "/", "http://localhost").searchParams;
  const terminal = pty.spawn(process.argv[2] ?? "", query.getAll("arg"), {
    cols: Number(query.get("cols")),
    rows: Number(query.get("rows")),
    encoding: null,
  });
  let unparsed = 0;
  terminal.onData((data) => {
    unparsed += data.length;
    if (unparsed > HIGH_BYTES) terminal.pause();
    socket.send(data, { binary: true });
  });
  terminal.onExit(() => socket.close());
  socket.on("message", (message) => {
    const text = String(message);
    if (text.startsWith("k")) terminal.write(text.slice(1));
    else unparsed -= Number(text);
    if (unparsed < LOW_BYTES) terminal.resume();
  });
  socket.on("close", () => terminal.kill());
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`listening on ${typeof address === "object" ? address?.port : address}\n`);
});
