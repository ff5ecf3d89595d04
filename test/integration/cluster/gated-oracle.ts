import { type OracleOptions, oracleProgram } from "../../../packages/testing/src/oracle/program.ts";

export type Gate = {
  /** Of each key but the last. */
  readonly pieces: number;
  readonly pieceBytes: number;
  /** Between two pieces, in seconds: for a stream that goes on for a while. */
  readonly pauseS: number;
  /** The one after these opens the gate for good. */
  readonly keys: number;
};

/** Printed without a key: who has them may type. */
export const READY_BYTES = 64;

/** One for each gate. A key that was typed twice, because nobody knew whether it had arrived, opens no later gate. */
const KEYS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Ends the program at a gate; what is behind it is not printed. */
export const END_KEY = "0";

/** $1 keys, $2 pieces, $3 bytes of a piece, $4 s. Through a pipe and a raw terminal the oracle's bytes stay as they are. */
const SCRIPT = `
stty raw -echo
keys=$1 pieces=$2 bytes=$3 pause=$4
shift 4
key() {
  wanted=$(printf %s ${KEYS} | cut -c "$1")
  typed=
  while [ "$typed" != "$wanted" ]; do
    typed=$(head -c 1 </dev/tty)
    [ "$typed" != ${END_KEY} ] || exec cat >/dev/null
  done
}
"$@" </dev/null | {
  head -c ${READY_BYTES}
  for k in $(seq "$keys"); do
    key "$k"
    for piece in $(seq "$pieces"); do head -c "$bytes"; sleep "$pause"; done
  done
  key $((keys + 1))
  cat
}`;

/** A command: an oracle that prints so much for each `gateKey` that is typed. It ends with code 0. */
export function gatedOracle(
  { keys, pieces, pieceBytes, pauseS }: Gate,
  options: Omit<OracleOptions, "bytes">,
): string[] {
  const numbers = [keys, pieces, pieceBytes, pauseS].map(String);
  const oracle = oracleProgram({ ...options, bytes: READY_BYTES + keys * pieces * pieceBytes });
  return ["sh", "-c", SCRIPT, "gated", ...numbers, ...oracle];
}

/** What is typed for gate 1, gate 2, …, and the rest. Once more than once does no harm, however late it comes. */
export function gateKey(number: number): string {
  const key = KEYS[number - 1];
  if (key === undefined) throw new Error(`there are ${KEYS.length} gates at most`);
  return key;
}
