// One thing wrong between the objects of ours, and what must be said of it.
import { type Change, change } from "./change.ts";

const HQ = "Deployment/ttyhq-hq";
const REMOTE = "StatefulSet/ttyhq-remote";
const REMOTE_LABELS = { "app.kubernetes.io/name": "ttyhq", "app.kubernetes.io/component": "remote" };

export const WRONG_OBJECTS: readonly Change[] = [
  change(
    "two pods at one volume",
    HQ,
    "spec/strategy/type",
    "RollingUpdate",
    `${HQ}: two of its pods want one volume during an update`,
  ),
  change(
    "a selector that misses its own pods",
    REMOTE,
    "spec/selector/matchLabels",
    { app: "else" },
    `${REMOTE}: does not select its own pods`,
  ),
  change(
    "a StatefulSet whose pods get no names",
    REMOTE,
    "spec/serviceName",
    "ttyhq-hq",
    `${REMOTE}: has no headless Service that gives its pods names`,
  ),
  change(
    "a Service of nothing",
    "Service/ttyhq-hq",
    "spec/selector",
    { app: "else" },
    "Service/ttyhq-hq: selects no pod",
  ),
  change(
    "a Service that leads to a closed port",
    "Service/ttyhq-hq",
    "spec/ports/0/targetPort",
    8080,
    "Service/ttyhq-hq: leads to port 8080, which its pods do not have",
  ),
  change(
    "a NetworkPolicy of nothing",
    "NetworkPolicy/ttyhq-hq",
    "spec/podSelector/matchLabels",
    { app: "else" },
    "NetworkPolicy/ttyhq-hq: selects no pod",
  ),
  change(
    "a NetworkPolicy for nobody",
    "NetworkPolicy/ttyhq-remote",
    "spec/ingress/0/from/0/podSelector/matchLabels",
    { app: "else" },
    'NetworkPolicy/ttyhq-remote: allows {"matchLabels":{"app":"else"}}, which is no pod of ours',
  ),
  change(
    "a NetworkPolicy for a closed port",
    "NetworkPolicy/ttyhq-hq",
    "spec/ingress/0/ports/0/port",
    80,
    "NetworkPolicy/ttyhq-hq: allows port 80, which its pods do not have",
  ),
  change(
    "a budget of nothing",
    "PodDisruptionBudget/ttyhq-hq",
    "spec/selector/matchLabels",
    { app: "else" },
    "PodDisruptionBudget/ttyhq-hq: selects no pod",
  ),
  change(
    "a budget that keeps every pod where it is",
    "PodDisruptionBudget/ttyhq-remote",
    "spec",
    { minAvailable: 2, selector: { matchLabels: REMOTE_LABELS } },
    "PodDisruptionBudget/ttyhq-remote: lets no node be emptied",
  ),
  change(
    "a budget of none",
    "PodDisruptionBudget/ttyhq-remote",
    "spec/maxUnavailable",
    0,
    "PodDisruptionBudget/ttyhq-remote: lets no node be emptied",
  ),
  change(
    "a budget without a number",
    "PodDisruptionBudget/ttyhq-remote",
    "spec/maxUnavailable",
    undefined,
    "PodDisruptionBudget/ttyhq-remote: says neither how many nor how few",
  ),
  change(
    "an Ingress to nowhere",
    "Ingress/ttyhq-hq",
    "spec/rules/0/http/paths/0/backend/service/port/name",
    "else",
    "Ingress/ttyhq-hq: leads to port else of ttyhq-hq, which is not there",
  ),
  change(
    "an Ingress that reads passwords",
    "Ingress/ttyhq-hq",
    "spec/tls",
    undefined,
    "Ingress/ttyhq-hq: takes passwords without TLS",
  ),
  change(
    "a namespace for anything",
    "Namespace/ttyhq",
    "metadata/labels",
    {},
    "Namespace/ttyhq: does not enforce restricted pods",
  ),
  change(
    "an object in another namespace",
    "Service/ttyhq-hq",
    "metadata/namespace",
    "default",
    "Service/ttyhq-hq: is in no namespace of ours",
  ),
  change(
    "an object with another's name",
    "PodDisruptionBudget/ttyhq-hq",
    "metadata/name",
    "ttyhq-remote",
    "PodDisruptionBudget/ttyhq-remote: is there twice",
  ),
  change(
    "a secret",
    "ServiceAccount/ttyhq-hq",
    "kind",
    "Secret",
    "Secret/ttyhq-hq: is a secret in a file",
    "Deployment/ttyhq-hq: its ServiceAccount ttyhq-hq is not there",
  ),
];
