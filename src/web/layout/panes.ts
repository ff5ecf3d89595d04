// The visible sessions. The address contains their layout. Only they have a terminal and a subscription, so hidden
// sessions cost nothing.
import { computed, effect, type ReadonlySignal, signal, untracked } from "@preact/signals";
import type { AddressBar } from "../app/address-bar.ts";
import { PRESENT_S, type Route, routeHash, sessionRoute } from "../app/route.ts";
import type { OpenSession } from "../terminal/open-session.ts";
import {
  addTab,
  allPanes,
  closePane,
  closePanes,
  closeTab,
  currentTab,
  emptyPane,
  focusedPane,
  focusPane,
  type Layout,
  panesOf,
  replaceTree,
  type Split,
  showSession,
  singlePane,
  splitPane,
  stepFocus,
  stepTab,
  type Tree,
} from "./layout.ts";

export type PanesOptions = {
  readonly address: Pick<AddressBar, "route" | "go" | "replace">;
  /** Whether only one pane fits. */
  readonly isNarrow: ReadonlySignal<boolean>;
  readonly open: (id: string) => OpenSession;
  /** The ids of the sessions in the order of the list. */
  readonly listed: () => readonly string[];
};

export class Panes implements Disposable {
  /** Undefined if the address shows no sessions. */
  readonly layout: ReadonlySignal<Layout | undefined>;
  /** The session of the focused pane, if there is one. */
  readonly focused: ReadonlySignal<OpenSession | undefined>;
  readonly #options: PanesOptions;
  readonly #open = signal<ReadonlyMap<string, OpenSession>>(new Map());
  /** The visible sessions by id. */
  readonly open: ReadonlySignal<ReadonlyMap<string, OpenSession>> = this.#open;
  readonly #scope = new DisposableStack();
  /** The layout before the page showed the list or a form. */
  #last: Layout | undefined;

  constructor(options: PanesOptions) {
    this.#options = options;
    const { route } = options.address;
    this.layout = computed(() => (route.value.view === "session" ? route.value.layout : undefined));
    this.focused = computed(() => {
      const id = this.layout.value && focusedPane(this.layout.value).id;
      return id === undefined ? undefined : this.#open.value.get(id);
    });
    this.#scope.defer(() => this.#follow([]));
    this.#scope.defer(
      effect(() => {
        this.#last = this.layout.value ?? this.#last;
        const ids = this.#inSight;
        untracked(() => this.#follow(ids));
      }),
    );
  }

  /** Whether there is more than one pane, hidden ones included. */
  get areSeveral(): boolean {
    return this.layout.value !== undefined && allPanes(this.layout.value).length > 1;
  }

  /** A link to a session; a plain click opens it among the other panes. */
  linkTo(id: string): { readonly href: string; readonly onClick: (event: MouseEvent) => void } {
    return {
      href: routeHash(sessionRoute(id)),
      onClick: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        this.show(id);
      },
    };
  }

  /** The address to which `show` leads. */
  routeTo(id: string, at?: number): Route {
    const layout = this.layout.peek() ?? this.#last ?? singlePane(id);
    return { view: "session", layout: showSession(layout, id, at) };
  }

  show(id: string, at?: number): void {
    this.#options.address.go(this.routeTo(id, at));
    this.focused.peek()?.emulator.focus();
  }

  /** Plays the recording of a session, by default of the focused one, from the present back. */
  goBackInTime(id = this.focused.peek()?.id): void {
    if (id !== undefined) this.show(id, PRESENT_S);
  }

  /** Opens the next or previous session of the list; on a narrow page that of the layout, if it has several. */
  goToNeighbour(direction: 1 | -1): void {
    const { isNarrow, listed } = this.#options;
    if (isNarrow.peek() && this.areSeveral) {
      this.#go((layout) => stepFocus(layout, direction, true));
      return;
    }
    const focused = this.focused.peek()?.id;
    const ids = listed().filter((id) => id === focused || !this.#open.peek().has(id));
    const place = ids.indexOf(focused ?? "");
    const id = place === -1 ? ids[0] : ids.at((place + direction) % ids.length);
    if (id !== undefined && id !== focused) this.show(id);
  }

  focus(number: number): void {
    this.#replace((layout) => focusPane(layout, number));
  }

  stepFocus(step: 1 | -1): void {
    this.#replace((layout) => stepFocus(layout, step));
  }

  split(kind: Split["kind"]): void {
    this.#go((layout) => splitPane(layout, kind));
  }

  /** The session of the pane keeps running. */
  close(number: number): void {
    this.#go((layout) => closePane(layout, number));
  }

  closeFocused(): void {
    this.#go((layout) => closePane(layout, currentTab(layout).focus));
  }

  /** Empties the focused pane, so that another session can be chosen. */
  empty(): void {
    this.#go(emptyPane);
  }

  addTab(): void {
    this.#go(addTab);
  }

  stepTab(step: 1 | -1): void {
    this.#go((layout) => stepTab(layout, step));
  }

  /** The focus goes to the terminal: the next key on the button would close another tab. */
  closeTab(number: number): void {
    this.#go((layout) => closeTab(layout, number));
    this.focused.peek()?.emulator.focus();
  }

  /** Stores moved dividers of the current tab. */
  resize(tree: Tree): void {
    this.#replace((layout) => replaceTree(layout, tree));
  }

  /** Closes the panes of a removed session. */
  forget(id: string): void {
    const layout = this.layout.peek() ?? this.#last;
    if (layout === undefined || !allPanes(layout).some((pane) => pane.id === id)) return;
    const rest = closePanes(layout, (pane) => pane.id === id);
    if (this.layout.peek() !== undefined) this.#go(() => rest);
    else this.#last = rest;
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  get #inSight(): readonly string[] {
    const layout = this.layout.value;
    if (layout === undefined) return [];
    const panes = this.#options.isNarrow.value ? [focusedPane(layout)] : panesOf(currentTab(layout).tree);
    return panes.flatMap(({ id }) => id ?? []);
  }

  #follow(ids: readonly string[]): void {
    const before = this.#open.peek();
    if (ids.length === before.size && ids.every((id) => before.has(id))) return;
    for (const [id, open] of before) if (!ids.includes(id)) open[Symbol.dispose]();
    this.#open.value = new Map(ids.map((id) => [id, before.get(id) ?? this.#options.open(id)]));
  }

  #go(change: (layout: Layout) => Layout | undefined): void {
    const { address } = this.#options;
    const layout = this.layout.peek();
    const next = layout && change(layout);
    if (layout === undefined) return;
    if (next === undefined) this.#last = undefined;
    address.go(next === undefined ? { view: "list" } : { view: "session", layout: next });
  }

  #replace(change: (layout: Layout) => Layout): void {
    const { address } = this.#options;
    const layout = this.layout.peek();
    if (layout === undefined) return;
    const route: Route = { view: "session", layout: change(layout) };
    // An unchanged focus causes no redraw.
    if (routeHash(route) !== routeHash(address.route.peek())) address.replace(route);
  }
}
