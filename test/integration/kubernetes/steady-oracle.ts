import { randomUUID } from "node:crypto";
import { type OracleOptions, oracleProgram } from "../../../packages/testing/src/oracle/program.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";

/** $1 a file, $2 bytes of a piece, $3 s between two. On a raw terminal the oracle's bytes stay as they are. */
const SCRIPT = `
stty raw -echo
file=$1 bytes=$2 pause=$3
shift 3
"$@" </dev/null | {
  until [ -e "$file" ]; do head -c "$bytes"; sleep "$pause"; done
  cat
}`;
/** 4 MB of them last for more than three minutes: longer than a busy cluster takes for what happens meanwhile. */
const PIECE_BYTES = 2_000;
const PAUSE_S = 0.1;

/**
 * An oracle that prints little by little, as long as nobody is done with it. Then what is left comes at once: where every
 * byte counts the whole is less than 4 MiB, or who is slow for a moment gets the screen in place of the past.
 */
export class SteadyOracle {
  readonly command: readonly string[];
  readonly #file = `/tmp/${randomUUID()}`;

  constructor(options: OracleOptions, pieceBytes = PIECE_BYTES) {
    this.command = [
      ...["sh", "-c", SCRIPT, "steady", this.#file, `${pieceBytes}`, `${PAUSE_S}`],
      ...oracleProgram(options),
    ];
  }

  /** `remoteId`: where it runs. */
  async finish(client: ServerClient, remoteId: string): Promise<void> {
    await client.api.create({ command: ["touch", this.#file], remoteId });
  }
}
