// The minimal cost of one more process: forwards bytes both ways without parsing them. Arguments: the target port.
import { connect, createServer } from "node:net";

const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: Number(process.argv[2]), host: "127.0.0.1", noDelay: true });
  client.pipe(upstream).pipe(client);
  for (const socket of [client, upstream]) {
    socket.on("error", () => {
      client.destroy();
      upstream.destroy();
    });
  }
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`listening on ${typeof address === "object" ? address?.port : address}\n`);
});
