import type { VNode } from "preact";
import { serverEndpoints } from "../../protocol/endpoints/server.ts";
import {
  LIMITED,
  type Limit,
  type Limited,
  type Usage,
  type UserUsage,
} from "../../protocol/schemas/usage.ts";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Failure } from "../components/failure.tsx";
import { useServerValue } from "../components/loaded.ts";
import { Table } from "../components/table.tsx";
import { ViewFrame } from "../components/view-frame.tsx";
import { size } from "../session/recording-words.ts";

/** Use above this fraction of a limit is marked. */
const NEAR = 0.8;

const NAMES: Readonly<Record<Limited, string>> = {
  connections: "Connections",
  shares: "Share links",
  logins: "Logins",
  apiTokens: "API tokens",
};

const HEADINGS = ["User", "Running", "Ended", "Output", ...LIMITED.map((name) => NAMES[name])];

/** The use of each per-user limit, for admins. */
export function UsageView({ workspace }: WorkspaceProps): VNode {
  const { client } = workspace;
  const { value: usage, failure } = useServerValue("The usage could not be loaded.", [client], () =>
    client.call(serverEndpoints.readUsage),
  );
  return (
    <ViewFrame
      title="Usage and limits"
      back={{ href: routeHash({ view: "account" }), words: "Logins and links" }}
    >
      <Failure words={failure} />
      {usage !== undefined && (
        <>
          <Table label="Users" headings={HEADINGS}>
            {usage.users.map((user) => (
              <UserRow key={user.user} user={user} limits={usage.limits} />
            ))}
          </Table>
          <ul class="hints" aria-label="Limits">
            {limitWords(usage).map((words) => (
              <li key={words}>{words}</li>
            ))}
          </ul>
        </>
      )}
    </ViewFrame>
  );
}

type UserRowProps = { readonly user: UserUsage; readonly limits: Usage["limits"] };

function UserRow({ user, limits }: UserRowProps): VNode {
  return (
    <tr>
      <th scope="row">{user.user}</th>
      <td class="number">{user.running}</td>
      <td class="number">{user.ended}</td>
      <td class="number">{size(user.outputBytes)}</td>
      {LIMITED.map((name) => (
        <UsedCell key={name} used={user[name]} limit={limits[name]} />
      ))}
    </tr>
  );
}

function UsedCell({ used, limit }: { readonly used: number; readonly limit: Limit | undefined }): VNode {
  if (limit === undefined) return <td class="number">{used}</td>;
  return (
    <td class="number">
      <span class={used >= NEAR * limit.perUser ? "near" : ""}>{used}</span>
      <span class="muted"> of {limit.perUser}</span>
    </td>
  );
}

function limitWords({ users, limits, perMinute, maxRecordingBytes }: Usage): readonly string[] {
  const totals = LIMITED.flatMap((name) => {
    const inTotal = limits[name]?.inTotal;
    if (inTotal === undefined) return [];
    const used = users.reduce((sum, user) => sum + user[name], 0);
    return [`${NAMES[name]} of all users: ${used} of ${inTotal}.`];
  });
  const { apiCalls, sessions } = perMinute;
  return [
    ...totals,
    sessions === undefined
      ? "A user may start any number of sessions."
      : `A user may start ${sessions} sessions per minute.`,
    apiCalls === undefined
      ? "A user may make any number of API calls."
      : `A user may make ${apiCalls} API calls per minute.`,
    `The recording of a session may take ${size(maxRecordingBytes)}.`,
  ];
}
