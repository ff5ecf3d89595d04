// All objects of one login: the connection, the list, the open sessions. They end with the login.
import { computed, effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import { actOnEach } from "../../protocol/client/act-on-each.ts";
import { type Caller, createCaller } from "../../protocol/client/caller.ts";
import { type Client, createClient } from "../../protocol/client/client.ts";
import type { ConnectionState } from "../../protocol/client/connection.ts";
import { fetchSend } from "../../protocol/client/fetch-send.ts";
import type { OpenLink } from "../../protocol/client/link.ts";
import type { Send } from "../../protocol/client/send.ts";
import { SessionSocket } from "../../protocol/client/session-socket.ts";
import { snapshotOf } from "../../protocol/directory/session-change.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import { SubscribeFlag } from "../../protocol/frame/payload.ts";
import { PAGE_PING_INTERVAL_MS } from "../../protocol/limits.ts";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { CreateSessionBody, SessionRecord, SignalName } from "../../protocol/schemas/session.ts";
import type { Share } from "../../protocol/schemas/share.ts";
import { sendFile } from "../files/send-file.ts";
import { onlySession } from "../layout/address.ts";
import { Panes } from "../layout/panes.ts";
import type { Access, Login } from "../login/login.ts";
import { Permissions } from "../login/permissions.ts";
import { MachineList } from "../machines/machine-list.ts";
import type { ColorScheme } from "../media-watch.ts";
import { followNotice } from "../notifications/alert.ts";
import { showAlert } from "../notifications/browser-notifications.ts";
import { SessionNotifier } from "../notifications/session-notifier.ts";
import type { Preferences } from "../preferences.ts";
import { saveFile } from "../save-file.ts";
import { GuestName } from "../session/sharing/guest-name.ts";
import { nameWords } from "../session/words.ts";
import { ListFilter } from "../sessions/list-filter.ts";
import { SessionList } from "../sessions/session-list.ts";
import { OpenSession } from "../terminal/open-session.ts";
import type { AddressBar } from "./address-bar.ts";
import { openBrowserLink, passing } from "./browser-link.ts";
import type { Notices } from "./notices.ts";
import { routeHash, sessionRoute } from "./route.ts";

type WorkspaceOptions = {
  readonly window: Window;
  readonly login: Login;
  /** Those at the start; the token may change. */
  readonly access: Access;
  readonly address: AddressBar;
  readonly notices: Notices;
  readonly preferences: Preferences;
  readonly scheme: ReadonlySignal<ColorScheme>;
  readonly isNarrow: ReadonlySignal<boolean>;
};

export class Workspace implements Disposable {
  readonly access: Access;
  readonly sessions: SessionList;
  readonly filter: ListFilter;
  readonly machines: MachineList;
  readonly client: Client;
  readonly permissions: Permissions;
  readonly panes: Panes;
  /** Whether the user is a guest of a link to one session. */
  readonly isGuests: boolean;
  /** Undefined for users. */
  readonly guestName: GuestName | undefined;
  readonly #options: WorkspaceOptions;
  readonly #send: Send;
  readonly #socket: SessionSocket;
  readonly #scope = new DisposableStack();
  readonly #end = new AbortController();
  readonly #connection: Signal<ConnectionState>;

  constructor(options: WorkspaceOptions) {
    this.#options = options;
    const { login, access, window } = options;
    this.access = access;
    this.isGuests = access.kind === "guest";
    this.guestName = this.isGuests ? new GuestName(window, () => this.#socket.introduce()) : undefined;
    this.#send = sendOf(login);
    this.client = createClient(this.#send);
    this.permissions = new Permissions(
      async () => (await this.client.call(endpoints.verifyToken)).permissions,
    );
    this.#socket = this.#scope.use(this.#newSocket());
    this.#connection = signal(this.#socket.state);
    this.#scope.use(
      this.#socket.onState((state) => {
        this.#connection.value = state;
        if (state.kind === "open") void this.permissions.refresh();
      }),
    );
    const subscribe: Workspace["subscribe"] = (listener) => this.subscribe(listener);
    this.sessions = this.#scope.use(
      new SessionList({
        list: (signal) => this.client.reply(endpoints.listSessions, {}, signal).then(snapshotOf),
        subscribe,
        onLost: (listener) => this.#socket.onState(({ kind }) => void (kind !== "open" && listener())),
      }),
    );
    this.filter = new ListFilter({ all: this.sessions.all, preferences: options.preferences });
    this.machines = this.#scope.use(
      new MachineList({
        // Guests see no machines.
        health: async (signal) => (this.isGuests ? { mode: "standalone" } : await this.client.health(signal)),
        remotes: (signal) => this.client.call(endpoints.listRemotes, {}, signal),
        subscribe,
        stage: window.document,
      }),
    );
    this.panes = this.#scope.use(this.#newPanes());
    this.#scope.use(this.#newNotifier());
    this.#scope.use(this.#retries());
    if (this.isGuests) this.#scope.defer(effect(() => this.#stayAtShared()));
    this.#scope.use(options.preferences.follow(window));
    this.#wakeUp();
  }

  get connection(): ReadonlySignal<ConnectionState> {
    return this.#connection;
  }

  /** The events of the server. */
  subscribe(listener: (event: ServerEvent) => void): Disposable {
    return this.#socket.subscribeGlobal(listener);
  }

  /** Requests for a machine rather than a session; at an HQ they go through the HQ. */
  callerOf({ source = LOCAL }: Pick<SessionRecord, "source">): Caller {
    return source === LOCAL ? this.client : createCaller(throughHq(this.#send, source));
  }

  /** Connects now instead of at the next attempt. */
  reconnect(): void {
    this.#socket.wake();
  }

  /** Delivers a session's screen, at most once in PREVIEW_INTERVAL_MS. Not for open sessions. */
  preview(id: string, onSnapshot: (payload: Uint8Array) => void): Disposable {
    const request = {
      from: "live",
      flags: SubscribeFlag.Snapshots,
      minIntervalMs: PREVIEW_INTERVAL_MS,
    } as const;
    const ignore = (): void => undefined;
    return this.#socket.attach(id, request, { onOutput: ignore, onResync: ignore, onSnapshot });
  }

  /** Shows the new session, unless the user went on with something else meanwhile. */
  async start(request: CreateSessionBody): Promise<void> {
    const { address, notices } = this.#options;
    const before = routeHash(address.route.peek());
    const { id } = await this.client.create(request);
    if (this.#scope.disposed) return;
    if (routeHash(address.route.peek()) === before) return this.panes.show(id);
    const record = this.sessions.record(id);
    notices.info(`${record === undefined ? "The session" : nameWords(record)} has started`);
  }

  async rename(record: SessionRecord, name: string): Promise<void> {
    await this.#options.notices.attempt("The session was not renamed", () =>
      this.client.rename(record.id, name),
    );
  }

  async signal(record: SessionRecord, name: SignalName): Promise<void> {
    await this.#options.notices.attempt(`${name} was not sent`, () => this.client.kill(record.id, name));
  }

  /** Ends a session, which stays in the list, also if its program has ended meanwhile. */
  async end(record: SessionRecord): Promise<void> {
    await this.#options.notices.attempt("The session was not ended", () => this.client.end(record.id));
  }

  /** Removes an ended session with its recording. */
  async remove(record: SessionRecord): Promise<void> {
    await this.#options.notices.attempt("The session was not removed", async () => {
      await this.client.call(endpoints.cleanupSession, { params: { id: record.id } });
      this.panes.forget(record.id);
    });
  }

  /** Removes these ended sessions; undefined: all. */
  async removeEnded(records?: readonly SessionRecord[]): Promise<void> {
    const cleanUp = async ({ id }: SessionRecord) =>
      void (await this.client.call(endpoints.cleanupSession, { params: { id } }));
    if (records !== undefined) return await this.#each(records, "not removed", cleanUp);
    await this.#options.notices.attempt("The ended sessions were not removed", async () => {
      await this.client.call(endpoints.cleanupExited);
    });
  }

  /** Like `end`. */
  async endAll(records: readonly SessionRecord[]): Promise<void> {
    await this.#each(records, "not ended", async ({ id }) => void (await this.client.end(id)));
  }

  /** Sets whether the guests of a link may type. */
  async allowTyping(share: Pick<Share, "id" | "sessionId">, mayType: boolean): Promise<void> {
    await this.#options.notices.attempt("What guests may do was not changed", async () => {
      await this.client.updateShare(share, mayType ? "type" : "view");
    });
  }

  async download(record: SessionRecord): Promise<void> {
    await this.#options.notices.attempt("The recording was not saved", () =>
      saveRecording(this.client, record),
    );
  }

  async saveText(record: SessionRecord, read: () => Promise<string>): Promise<void> {
    await this.#options.notices.attempt("The text was not saved", async () =>
      saveFile(new Blob([await read()], { type: "text/plain" }), `${fileName(record)}.txt`),
    );
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    this.#scope.dispose();
  }

  #newPanes(): Panes {
    const { address, isNarrow } = this.#options;
    return new Panes({
      address,
      isNarrow,
      open: (id) => this.#openSession(id),
      listed: () => (this.filter.shown.peek() ?? []).map(({ id }) => id),
    });
  }

  #newNotifier(): SessionNotifier {
    const { window, preferences, notices } = this.#options;
    return new SessionNotifier({
      subscribe: (listener) => this.subscribe(listener),
      record: (id) => this.sessions.record(id),
      isInView: (id) => window.document.visibilityState === "visible" && this.panes.open.peek().has(id),
      kinds: () => preferences.current.peek().notifications,
      show: (alert) => showAlert(alert, (id) => this.panes.show(id)),
      tell: (notification) => {
        if (preferences.current.peek().hasFollowNotices) notices.told(followNotice(notification));
      },
    });
  }

  #newSocket(): SessionSocket {
    const times = { pingMs: PAGE_PING_INTERVAL_MS };
    const guestName = (): string | undefined => this.guestName?.text;
    return new SessionSocket({ open: this.#openLink(), clientName: "page", version: "1", guestName, times });
  }

  #openLink(): OpenLink {
    return async (handlers, signal) => {
      const { ticket } = await this.client.call(endpoints.createWsTicket, {}, signal).catch(passing);
      const { protocol, host } = this.#options.window.location;
      const scheme = protocol === "https:" ? "wss:" : "ws:";
      return await openBrowserLink(
        `${scheme}//${host}/ws?token=${encodeURIComponent(ticket)}`,
        handlers,
        signal,
      );
    };
  }

  #retries(): Disposable {
    return this.subscribe(({ type }) => {
      if (type === "remote-joined") for (const open of this.panes.open.peek().values()) open.retry();
    });
  }

  /** A guest always sees the one session, whatever the address. */
  #stayAtShared(): void {
    const [session] = this.sessions.all.value ?? [];
    const route = this.#options.address.route.value;
    if (session === undefined) return;
    if (route.view === "session" && onlySession(route.layout)?.id === session.id) return;
    untracked(() => this.#options.address.replace(sessionRoute(session.id)));
  }

  #openSession(id: string): OpenSession {
    const { preferences, scheme, notices, login } = this.#options;
    return new OpenSession({
      id,
      socket: this.#socket,
      client: this.client,
      preferences,
      scheme,
      mayType: () => this.permissions.grants("sessions:control"),
      isMachineGone: computed(() => this.machines.isGone(this.sessions.record(id)?.source)),
      onFailed: (what, error) => notices.failed(what, error),
      onSwipe: (direction) => this.isGuests || this.panes.goToNeighbour(direction),
      sendFile: (file) => {
        const { token } = login;
        return sendFile(file, { token, onRefused: () => login.refused(token) });
      },
    });
  }

  /** After sleep, or when the network is lost or back, the page does not wait for a timer. */
  #wakeUp(): void {
    const { window } = this.#options;
    const { signal } = this.#end;
    const wake = (): void => {
      if (window.document.visibilityState === "visible") this.#socket.wake();
    };
    // A server on this machine is still reachable, which a new link proves.
    window.addEventListener("offline", () => this.#socket.reconnect(), { signal });
    window.addEventListener("online", wake, { signal });
    window.document.addEventListener("visibilitychange", wake, { signal });
  }

  async #each(
    records: readonly SessionRecord[],
    failure: string,
    act: (record: SessionRecord) => Promise<void>,
  ): Promise<void> {
    const { signal } = this.#end;
    const { failures } = await actOnEach(records, act, signal);
    if (failures.length === 0 || signal.aborted) return;
    this.#options.notices.failed(
      `${failures.length} of ${records.length} were ${failure}`,
      failures[0]?.error,
    );
  }
}

/** Frequent enough to show activity, and cheap for twenty sessions at once. */
const PREVIEW_INTERVAL_MS = 1_000;

const UNAUTHORIZED = 401;

/** Uses the current token; a refusal ends the login. */
function sendOf(login: Login): Send {
  const send = fetchSend({ origin: "", token: () => login.token });
  return async (request) => {
    const used = login.token;
    const response = await send(request);
    if (response.status === UNAUTHORIZED) login.refused(used);
    return response;
  };
}

function throughHq(send: Send, remote: string): Send {
  const proxy = `/api/remotes/${encodeURIComponent(remote)}/proxy`;
  return (request) => send({ ...request, path: `${proxy}${request.path}` });
}

/** Downloads that take longer are aborted. */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/**
 * Saves the recording so far as a file. The browser collects it on disk as a Blob first: a link cannot carry the token
 * in a header, and a token in the address would enter the history.
 */
async function saveRecording(client: Client, record: SessionRecord): Promise<void> {
  const signal = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  const parts: BlobPart[] = [];
  for await (const part of await client.recording(record.id, { follow: false }, signal)) {
    parts.push(new Uint8Array(part));
  }
  saveFile(new Blob(parts, { type: "application/x-asciicast" }), `${fileName(record)}.cast`);
}

function fileName(record: SessionRecord): string {
  const { id } = record;
  const safe = nameWords(record)
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
  return `${safe === "" ? "session" : safe.slice(0, 80)}-${id}`;
}
