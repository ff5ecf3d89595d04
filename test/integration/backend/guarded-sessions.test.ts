import { sessionAccess } from "../../../src/access/session-access.ts";
import { OWN } from "../../../src/auth/roles.ts";
import { describeBackend } from "./conformance.ts";
import { ownTerminals } from "./own-terminals.ts";

const owner = "ada";

describeBackend("sessions as their owner has them", async () => {
  const terminals = await ownTerminals();
  const { viewOf } = sessionAccess(
    terminals.backend,
    ({ rights }) => rights,
    () => undefined,
  );
  return {
    backend: viewOf({ rights: OWN, owner }).sessions,
    place: { owner },
    [Symbol.asyncDispose]: () => terminals[Symbol.asyncDispose](),
  };
});
