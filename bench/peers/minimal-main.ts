// A minimal terminal server for many viewers: node-pty and ws. A session begins with its first viewer and ends with its
// last one. Arguments: the program that runs in every session.
import { createServer } from "node:http";
import pty from "node-pty";
import { type WebSocket, WebSocketServer } from "ws";

type Session = { readonly terminal: pty.IPty; readonly viewers: Set<WebSocket> };
const sessions = new Map<string, Session>();
const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });

function start(id: string, words: string[]): Session {
  const terminal = pty.spawn(process.argv[2] ?? "", words, { cols: 80, rows: 24, encoding: null });
  const session = { terminal, viewers: new Set<WebSocket>() };
  sessions.set(id, session);
  terminal.onData((data) => {
    for (const viewer of session.viewers) viewer.send(data, { binary: true });
  });
  terminal.onExit(() => {
    sessions.delete(id);
    for (const viewer of session.viewers) viewer.close();
  });
  return session;
}

sockets.on("connection", (socket, request) => {
  const query = new URL(request.url ?? "/", "http://localhost").searchParams;
  const id = query.get("session") ?? "";
  const session = sessions.get(id) ?? start(id, query.getAll("arg"));
  session.viewers.add(socket);
  socket.on("message", (data) => session.terminal.write(data.toString()));
  socket.on("close", () => {
    session.viewers.delete(socket);
    if (session.viewers.size === 0) session.terminal.kill();
  });
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`listening on ${typeof address === "object" ? address?.port : address}\n`);
});
