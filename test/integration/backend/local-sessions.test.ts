import { describeBackend } from "./conformance.ts";
import { ownTerminals } from "./own-terminals.ts";

describeBackend("the terminals of this process", ownTerminals);
