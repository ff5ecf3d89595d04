import { type OracleOptions, oracleProgram } from "../../../packages/testing/src/oracle/program.ts";

export type Gate = {
  /** The bytes after each key but the last. */
  readonly pieces: number;
  readonly pieceBytes: number;
  /** The pause between two pieces, in seconds, for a longer stream. */
  readonly pauseS: number;
  /** The following keys open the gate for good. */
  readonly keys: number;
};

/** Printed without a key: viewers that have it may type. */
export const READY_BYTES = 64;

/** One for each gate, in turn. A key that is typed twice, because its arrival was unknown, does not open the next gate. */
const KEYS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Ends the program at a gate; the rest is not printed. */
export const END_KEY = "0";

/** $1 keys, $2 pieces, $3 bytes of a piece, $4 s. A pipe and a raw terminal leave the oracle's bytes unchanged. */
const SCRIPT = `
stty raw -echo
keys=$1 pieces=$2 bytes=$3 pause=$4
shift 4
key() {
  wanted=$(printf %s ${KEYS} | cut -c $((($1 - 1) % ${KEYS.length} + 1)))
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

/** A command: an oracle that prints that much for each `gateKey`. It ends with code 0. */
export function gatedOracle(
  { keys, pieces, pieceBytes, pauseS }: Gate,
  options: Omit<OracleOptions, "bytes">,
): string[] {
  const numbers = [keys, pieces, pieceBytes, pauseS].map(String);
  const oracle = oracleProgram({ ...options, bytes: READY_BYTES + keys * pieces * pieceBytes });
  return ["sh", "-c", SCRIPT, "gated", ...numbers, ...oracle];
}

/** The keys for gate 1, gate 2, …, and the rest. Repeating a key does no harm until all others had their turn. */
export function gateKey(number: number): string {
  return KEYS.charAt((number - 1) % KEYS.length);
}
