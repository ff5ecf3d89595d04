import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { query } from "../query.ts";

export const addLoginLink = query({
  usage: "login-link",
  summary: "print a link that logs a browser in, once",
  description: "Print an address of the page that logs a browser in, once and within 10 minutes.",
  json: 'print {"url", "expiresIn"}, the latter in seconds',
  examples: [['xdg-open "$(ttyhq login-link)"', "opens the page"]],
  who: "server",
  ask: ({ client }) => client.call(endpoints.createLoginLink),
  text: ({ url }) => `${url}\n`,
});

export const addEnrolmentCode = query({
  usage: "enrolment-code <user>",
  summary: "print a code with which a user creates a passkey, once",
  description:
    "Print a code for a user who needs a passkey and has none, or has lost it. Together with the user's password it creates one passkey and new recovery codes, once and within 24 hours.",
  json: 'print {"code", "expiresIn"}, the latter in seconds',
  examples: [["ttyhq enrolment-code ada", "for the second factor that --require-second-factor asks for"]],
  who: "server",
  ask: ({ client }, _, [user = ""]) => client.call(endpoints.createEnrolmentCode, { body: { user } }),
  text: ({ code }) => `${code}\n`,
});
