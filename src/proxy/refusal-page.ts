// What a person sees of an error, in place of JSON.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ErrorCode, errorBody, ServiceError } from "../protocol/errors.ts";
import { type PlainPage, sendPage } from "./plain-page.ts";

const TITLES: Partial<Record<ErrorCode, string>> = {
  login_refused: "Not logged in",
  provider_unreachable: "The login does not work just now",
  server_unreachable: "The server does not answer",
  unauthorized: "Not logged in",
};

/** Whether somebody looks at the answer: a page is asked for, not a part of one, nor anything by a program. */
export function isNavigation({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean {
  const mode = headers["sec-fetch-mode"] ?? "navigate";
  return method === "GET" && headers.accept?.includes("text/html") === true && mode === "navigate";
}

export function sendRefusal(response: ServerResponse, error: unknown): void {
  const { error: message, code } = errorBody(error);
  const status = error instanceof ServiceError ? error.status : 500;
  if (code === "provider_unreachable") response.setHeader("retry-after", "5");
  const page: PlainPage = {
    ...{ status, title: TITLES[code] ?? "This did not work", sentences: [sentence(message)] },
    action: { kind: "link", to: "/", text: "Try again" },
  };
  sendPage(response, page);
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
