// One address for several servers, like a balancer in front of HQs: each connection goes to the next server that
// accepts it.
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export class Balancer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(servers: readonly { readonly url: string }[]) {
    const ports = servers.map(({ url }) => Number(new URL(url).port));
    let turn = 0;
    this.#server = createServer((near) => {
      turn += 1;
      const first = turn % ports.length;
      this.#keep(near);
      void this.#pass(near, [...ports.slice(first), ...ports.slice(0, first)]);
    });
  }

  /** On loopback. */
  static async open(servers: readonly { readonly url: string }[]): Promise<Balancer> {
    const balancer = new Balancer(servers);
    await once(balancer.#server.listen(0, "127.0.0.1"), "listening");
    return balancer;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return `http://127.0.0.1:${address.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }

  async #pass(near: Socket, ports: readonly number[]): Promise<void> {
    for (const port of ports) {
      const far = connect(port, "127.0.0.1");
      this.#keep(far);
      const isTaken = await once(far, "connect").then(
        () => true,
        () => false,
      );
      if (!isTaken) continue;
      near.pipe(far).pipe(near);
      near.once("close", () => far.destroy());
      far.once("close", () => near.destroy());
      if (near.destroyed) far.destroy();
      return;
    }
    near.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    // The close event follows.
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
  }
}
