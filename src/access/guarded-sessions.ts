import type { InvitedRights } from "../auth/roles.ts";
import { keyOf } from "../protocol/directory/session-change.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { guestRecord, guestView } from "./guest-sight.ts";

/** The owner's name, or a guest's share link. `now`: the link as it is now. */
export type Holder =
  | { readonly kind: "owner"; readonly owner: string | undefined }
  | (InvitedRights & { readonly now: () => InvitedRights });

/**
 * Only the sessions of a holder. All others answer `session_not_found`, whether or not they exist. Endpoints and frames
 * check permissions before, see auth/roles.ts. Disposing this does not dispose of `backend`.
 */
export function guardedSessions(backend: SessionBackend, holder: Holder): SessionBackend {
  const shown = (record: SessionRecord): SessionRecord =>
    holder.kind === "owner" ? record : guestRecord(record, holder.now());
  const ofHolder = (records: readonly SessionRecord[]) =>
    records.filter((record) => isOf(holder, record)).map(shown);
  const missing = (id: string) => new ServiceError("session_not_found", `no session ${id}`);
  const checked = (id: string, record: SessionRecord): SessionRecord => {
    if (isOf(holder, record)) return shown(record);
    throw missing(id);
  };
  const find: SessionBackend["find"] = (id) => {
    // An HQ asks all remotes for an id that it does not know.
    if (holder.kind === "invited" && id !== holder.session.id) throw missing(id);
    const found = backend.find(id);
    return found instanceof Promise ? found.then((record) => checked(id, record)) : checked(id, found);
  };
  const after: After = (id, act) => {
    try {
      const found = find(id);
      return found instanceof Promise ? found.then(act) : act();
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return {
    list: async () => ofHolder(await backend.list()),
    all: () => ofHolder(backend.all()),
    find,
    get: async (id) => checked(id, await after(id, () => backend.get(id))),
    ...commands(backend, after),
    view: (id, view, signal) =>
      after(id, () => {
        if (holder.kind === "owner") return backend.view(id, view, signal);
        return guestView(view, holder.from, (asked) => backend.view(id, asked, signal));
      }),
    subscribe: async (id, sink, flags) => {
      const { record, ...rest } = await after(id, () => backend.subscribe(id, sink, flags));
      return { ...rest, record: shown(record) };
    },
    // Events of all sessions: callers filter them with SessionView.shown.
    watch: (listener) => backend.watch(listener),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Acts if the session is the holder's: synchronously if it is known, so that input keeps the order of the calls. */
type After = <T>(id: string, act: () => Promise<T>) => Promise<T>;

function commands(backend: SessionBackend, after: After) {
  return {
    create: (request) => backend.create(request),
    rename: (id, name) => after(id, () => backend.rename(id, name)),
    remove: (id, condition) => after(id, () => backend.remove(id, condition)),
    write: (id, input) => after(id, () => backend.write(id, input)),
    resize: (id, size) => after(id, () => backend.resize(id, size)),
    kill: (id, signal) => after(id, () => backend.kill(id, signal)),
    mark: (id, label) => after(id, () => backend.mark(id, label)),
    saveFile: (id, file, signal) => after(id, () => backend.saveFile(id, file, signal)),
    openFile: (id, path, signal) => after(id, () => backend.openFile(id, path, signal)),
  } satisfies Partial<SessionBackend>;
}

function isOf(holder: Holder, record: SessionRecord): boolean {
  if (holder.kind === "invited")
    return record.id === holder.session.id && keyOf(record) === holder.session.key;
  return record.owner !== undefined && record.owner === holder.owner;
}
