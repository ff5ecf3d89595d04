import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Login } from "./login.ts";

/** Who logs in without a name; undefined while that is not known. */
export function useDefaultUser(login: Pick<Login, "defaultUser">): string | undefined {
  const user = useSignal<string | undefined>(undefined);
  useEffect(() => {
    // Without it the field says so in other words.
    void login.defaultUser().then(
      (name) => {
        user.value = name;
      },
      () => undefined,
    );
  }, [login, user]);
  return user.value;
}
