// Proves that each rule of the policy works: the objects of k8s/overlays/ingress, with one defect.
import { expect, test } from "vitest";
import { schemaProblems } from "./api-schema.ts";
import { changed } from "./change.ts";
import { rendered } from "./overlay.ts";
import { policyProblems } from "./policy.ts";
import { WRONG_OBJECTS } from "./wrong-objects.ts";
import { WRONG_PODS } from "./wrong-pods.ts";

const base = await rendered("overlays/ingress");

test.each([...WRONG_PODS, ...WRONG_OBJECTS])("the policy refuses $about", (change) => {
  expect(policyProblems(changed(base, change))).toEqual(change.said);
});

test("the policy refuses pods that no NetworkPolicy guards", () => {
  const isPolicy = (object: unknown): boolean => JSON.stringify(object).includes('"NetworkPolicy"');
  expect(policyProblems(base.filter((object) => !isPolicy(object)))).toEqual(
    ["Deployment/ttyhq-hq", "StatefulSet/ttyhq-remote"].flatMap((name) => [
      `${name}: no NetworkPolicy limits its Ingress`,
      `${name}: no NetworkPolicy limits its Egress`,
    ]),
  );
});

test("the API's schemas refuse a value of another type", async () => {
  const wrong = changed(base, { of: "Deployment/ttyhq-hq", at: "spec/replicas", value: "one" });
  expect(await schemaProblems(wrong)).toContainEqual(
    expect.stringMatching(/^Deployment\/ttyhq-hq: .*replicas.*integer/),
  );
});

test("the API's schemas refuse a field that is not there, however deep", async () => {
  const at = "spec/template/spec/containers/0/readinesProbe";
  const wrong = changed(base, { of: "StatefulSet/ttyhq-remote", at, value: {} });
  expect(await schemaProblems(wrong)).toContainEqual(
    expect.stringMatching(/^StatefulSet\/ttyhq-remote: .*readinesProbe.*does not exist/),
  );
});
