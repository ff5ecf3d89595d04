import type { VNode } from "preact";
import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import type { LoginRecord } from "../../protocol/schemas/login.ts";
import { clientWords } from "../client-words.ts";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/failure.tsx";
import { useServerValue } from "../components/loaded.ts";
import { agoWords } from "../session/words.ts";

type LoginListProps = {
  readonly client: Client;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether to list the logins of all users. */
  readonly isOfAll: boolean;
};

/** Lists logins, with a button to end each. */
export function LoginList({ client, now, isOfAll }: LoginListProps): VNode {
  const { value: list, ...logins } = useServerValue(
    "The logins could not be loaded.",
    [client, isOfAll],
    () => client.call(endpoints.listLogins, { query: { all: isOfAll ? "1" : "0" } }),
  );
  const end = ({ id: loginId }: LoginRecord): void =>
    logins.change("The login was not ended.", () => client.call(endpoints.endLogin, { params: { loginId } }));
  return (
    <>
      <Failure words={logins.failure} />
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
        <Button kind="danger-quiet small" label={`End the login of ${words} from ${address}`} onClick={onEnd}>
          End
        </Button>
      )}
    </li>
  );
}
