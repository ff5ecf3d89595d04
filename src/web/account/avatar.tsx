import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { endpointPath } from "../../protocol/endpoints/endpoint.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { UserId } from "../../protocol/schemas/auth.ts";

type AvatarProps = {
  readonly user: string;
  /** A picture's address on another site, used instead of the server's. */
  readonly picture?: string | undefined;
};

/** The picture of a user, or nothing. The name stands beside it. */
export function Avatar({ user, picture }: AvatarProps): VNode | undefined {
  const missing = useSignal<readonly string[]>([]);
  const own = UserId.safeParse(user).success ? [endpointPath(endpoints.avatar, { userId: user })] : [];
  const sources = picture === undefined ? own : [picture, ...own];
  const src = sources.find((each) => !missing.value.includes(each));
  if (src === undefined) return undefined;
  return (
    <img
      key={src}
      class="avatar"
      src={src}
      alt=""
      referrerpolicy="no-referrer"
      onError={() => {
        missing.value = [...missing.value, src];
      }}
    />
  );
}
