import type { VNode } from "preact";
import { Icon } from "../components/icon.tsx";
import type { Notices } from "./notices.ts";

export function NoticeList({ notices }: { readonly notices: Notices }): VNode {
  return (
    <div class="notices" aria-live="polite">
      {notices.list.value.map((notice) => (
        <div key={notice.id} class={`notice ${notice.tone}`}>
          <Icon name={notice.tone === "error" ? "warning" : "check"} />
          <span>{notice.text}</span>
          <button
            type="button"
            class="button ghost small"
            aria-label="Close"
            onClick={() => notices.close(notice.id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
