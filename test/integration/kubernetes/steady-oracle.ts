import { randomUUID } from "node:crypto";
import { type OracleOptions, oracleProgram } from "../../../packages/testing/src/oracle/program.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";

/** $1 a file, $2 bytes of a piece, $3 s between two. A raw terminal leaves the oracle's bytes unchanged. */
const SCRIPT = `
stty raw -echo
file=$1 bytes=$2 pause=$3
shift 3
"$@" </dev/null | {
  until [ -e "$file" ]; do head -c "$bytes"; sleep "$pause"; done
  cat
}`;
/** 4 MB of them last for more than three minutes: longer than the actions on a busy cluster. */
const PIECE_BYTES = 2_000;
const PAUSE_S = 0.1;

/**
 * An oracle that prints little by little until it is told to finish; then the rest comes at once. If every byte counts,
 * the whole is less than 4 MiB: otherwise a viewer that is slow for a moment gets the screen.
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

  /** `remoteId`: its machine. */
  async finish(client: ServerClient, remoteId: string): Promise<void> {
    await client.api.create({ command: ["touch", this.#file], remoteId });
  }
}
