import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { UserId } from "../../protocol/auth.ts";
import { endpointPath } from "../../protocol/endpoint.ts";
import { endpoints } from "../../protocol/endpoints.ts";

/** The picture of a user; nothing where there is none. The name stands beside it. */
export function Avatar({ user }: { readonly user: string }): VNode | undefined {
  const missing = useSignal<string | undefined>(undefined);
  if (!UserId.safeParse(user).success || missing.value === user) return undefined;
  const src = endpointPath(endpoints.avatar, { userId: user });
  return (
    <img
      key={user}
      class="avatar"
      src={src}
      alt=""
      onError={() => {
        missing.value = user;
      }}
    />
  );
}
