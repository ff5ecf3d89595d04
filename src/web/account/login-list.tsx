import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import type { LoginRecord } from "../../protocol/schemas/login.ts";
import { clientWords } from "../client-words.ts";
import { Failure } from "../components/failure.tsx";
import { failureSentence } from "../sentence.ts";
import { agoWords } from "../session/words.ts";

type LoginListProps = {
  readonly client: Client;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether those of all users are listed. */
  readonly isOfAll: boolean;
};

/** Where users are logged in, and an end to each login. */
export function LoginList({ client, now, isOfAll }: LoginListProps): VNode {
  const { list, failure, end } = useLogins(client, isOfAll);
  return (
    <>
      <Failure words={failure} />
      <ul class="share-list login-list" aria-label="Logins">
        {list?.map((login) => (
          <LoginItem key={login.id} {...{ login, now, isOfAll }} onEnd={() => end(login)} />
        ))}
      </ul>
    </>
  );
}

type LoginItemProps = {
  readonly login: LoginRecord;
  readonly now: number;
  readonly isOfAll: boolean;
  readonly onEnd: () => void;
};

function LoginItem({ login, now, isOfAll, onEnd }: LoginItemProps): VNode {
  const { client, address = "this machine", createdAt, lastUsedAt, current } = login;
  const words = clientWords(client);
  return (
    <li>
      <div>
        <span title={client}>{isOfAll ? `${login.user}: ${words}` : words}</span>
        <span class="muted">
          {address} · logged in {agoWords(Date.parse(createdAt), now)}
          {current ? "" : `, used ${agoWords(Date.parse(lastUsedAt), now)}`}
        </span>
      </div>
      {current ? (
        <span class="badge">this one</span>
      ) : (
        <button
          type="button"
          class="button danger-quiet small"
          aria-label={`End the login of ${words} from ${address}`}
          onClick={onEnd}
        >
          End
        </button>
      )}
    </li>
  );
}

type Logins = {
  /** Undefined until they were read. */
  readonly list: readonly LoginRecord[] | undefined;
  readonly failure: string | undefined;
  readonly end: (login: LoginRecord) => void;
};

function useLogins(client: Client, isOfAll: boolean): Logins {
  const list = useSignal<readonly LoginRecord[] | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const attempt = async (otherwise: string, act: () => Promise<void>): Promise<void> => {
    failure.value = undefined;
    try {
      await act();
      list.value = await client.call(endpoints.listLogins, { query: { all: isOfAll ? "1" : "0" } });
    } catch (error) {
      failure.value = failureSentence(error, otherwise);
    }
  };
  useEffect(() => void attempt("The logins could not be loaded.", async () => {}), [client, isOfAll]);
  return {
    list: list.value,
    failure: failure.value,
    end: ({ id: loginId }) =>
      void attempt("The login was not ended.", async () => {
        await client.call(endpoints.endLogin, { params: { loginId } });
      }),
  };
}
