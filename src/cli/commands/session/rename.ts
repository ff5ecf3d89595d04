import { query } from "../../query.ts";
import { findSession, plainRecord } from "../../session-reference.ts";
import { printable } from "../../text.ts";

export const addRename = query({
  usage: "rename <session> <name>",
  summary: "give a session another name",
  json: "print the session object",
  examples: [["ttyhq rename 7f3a build", "later commands find it as build"]],
  ask: async ({ client }, _, [reference = "", name = ""]) => {
    const { id } = findSession(reference, await client.list());
    await client.rename(id, name);
    return await client.get(id);
  },
  toJson: plainRecord,
  text: ({ id, name }) => `${printable(id)} is ${printable(name)}\n`,
});
