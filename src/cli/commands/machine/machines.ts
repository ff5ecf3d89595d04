import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { query } from "../../query.ts";
import { table } from "../../text.ts";

export const addMachines = query({
  usage: "machines",
  summary: "list the machines of an HQ",
  json: "print the machines as a JSON array, as GET /api/remotes has them",
  examples: [
    ["ttyhq machines --url https://hq.example.com", "which machines there are, and which are cordoned"],
  ],
  who: "server",
  ask: async ({ client }) => {
    const [remotes, sessions] = await Promise.all([client.call(endpoints.listRemotes), client.list()]);
    return { remotes, running: sessions.filter(({ status }) => status !== "exited") };
  },
  toJson: ({ remotes }) => remotes,
  text: ({ remotes, running }, _, cli) => {
    const byName = remotes.toSorted((one, other) => one.name.localeCompare(other.name));
    const rows = byName.map(({ name, cordoned, labels = {}, url }) => {
      const count = running.filter(({ source }) => source === name).length;
      const pairs = Object.entries(labels).map((label) => label.join("="));
      return [name, cordoned ? "cordoned" : "up", `${count}`, pairs.join(","), url];
    });
    const headings = ["NAME", "STATUS", "RUNNING", "LABELS", "ADDRESS"];
    return table(headings, rows, cli.stdout.columns, ["NAME", "LABELS", "ADDRESS"]);
  },
});
