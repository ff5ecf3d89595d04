// A test run that never cleans up: starts a container, prints its owner and waits to be killed.
import { ServiceContainer } from "../../../packages/testing/src/container.ts";
import { ownName } from "../../../packages/testing/src/owner.ts";

await new ServiceContainer().withName("abandoned").withArgs("--no-auth").start();
console.log(ownName());
setInterval(() => {}, 60_000);
