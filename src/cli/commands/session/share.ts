import { span } from "../../../config/options/span.ts";
import { query } from "../../query.ts";
import { findSession } from "../../session-reference.ts";

export const addShare = query({
  usage: "share <session>",
  summary: "print a link that opens a session without a login",
  description:
    "Print a link. Anyone with it can open this session (only this one) without logging in, until it expires or is revoked in the page.",
  json: 'print the share object, with "url"',
  examples: [
    ["ttyhq share build", "to watch, for an hour"],
    ["ttyhq share build --type --expires 30m", "to type as well, for half an hour"],
  ],
  who: "server",
  flags: {
    type: ["--type", "let guests type, as the user whose session it is"],
    resize: ["--resize", "let guests who may type also resize the terminal"],
    history: ["--no-history", "do not show output from before the link was made"],
    expires: ["--expires <time>", "when the link ends, from 1m to 30d", span("1m", "30d", "8h"), "1h"],
  },
  ask: async ({ client }, { type, resize, history, expires }, [reference = ""]) => {
    const { id } = findSession(reference, await client.list());
    const mode = type ? "type" : "view";
    return await client.share(id, { mode, resize, history, expiresIn: expires / 1_000 });
  },
  text: ({ url }) => `${url}\n`,
});
