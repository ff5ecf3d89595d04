import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AuthConfig } from "../../protocol/auth.ts";
import type { Login } from "../login.ts";

/** Who logs in without a name; undefined while that is not known, and where it is a configured one, which nobody is told. */
export function useServerUser(
  login: Pick<Login, "serverUser">,
  { passwordMode }: AuthConfig,
): string | undefined {
  const user = useSignal<string | undefined>(undefined);
  useEffect(() => {
    if (passwordMode === "configured") return;
    // Without it the field says so in other words.
    void login.serverUser().then(
      (name) => {
        user.value = name;
      },
      () => undefined,
    );
  }, [login, passwordMode, user]);
  return user.value;
}
