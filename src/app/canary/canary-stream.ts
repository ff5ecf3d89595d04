// The output of a canary: every byte follows from its offset, so that a lost, doubled or damaged one is found by comparison.

/** Lines of one session, about an hour; then another one begins, which keeps recordings small. */
const MAX_LINES = 1_800;
/** Seconds after which a line comes by itself. */
const PAUSE_S = 2;
/** The program ends after this many lines without input: its server has gone. */
const MAX_IDLE_LINES = 30;

const HEAD = "canary ";
const NUMBER_DIGITS = 16;
/** `canary 0000000000000042 k` and a line feed. The letter repeats an input, a hyphen stands for none. */
const KEY_AT = HEAD.length + NUMBER_DIGITS + 1;
export const LINE_BYTES = KEY_AT + 2;

/** Drops the rights of root; without `setpriv` nothing runs with them. */
const UNPRIVILEGED = `
if [ "$(id -u)" = 0 ]; then
  set -- setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$@"
fi
exec "$@"`;

/** POSIX sh. */
const SCRIPT = `
export LC_ALL=C
stty raw -echo min 0 time ${PAUSE_S * 10} || exit
n=0 idle=0 key=-
while [ $n -lt ${MAX_LINES} ] && [ $idle -lt ${MAX_IDLE_LINES} ]; do
  printf '${HEAD}%0${NUMBER_DIGITS}d %s\\n' $n "$key"
  n=$((n + 1))
  key=$(dd bs=1 count=1 2>/dev/null)
  case $key in
    [a-z]) idle=0 ;;
    *) key=- idle=$((idle + 1)) ;;
  esac
done`;

export const CANARY_COMMAND: readonly string[] = ["sh", "-c", UNPRIVILEGED, "canary", "sh", "-c", SCRIPT];

type Checked = {
  /** Bytes that are not what belongs at their offset. */
  readonly wrongBytes: number;
  /** The letters of the lines. */
  readonly keys: string;
};

/** Compares output from `offset` on with what belongs there. */
export function checkCanary(offset: number, bytes: Uint8Array): Checked {
  let wrongBytes = 0;
  let keys = "";
  for (const [index, byte] of bytes.entries()) {
    const at = offset + index;
    const column = at % LINE_BYTES;
    if (column !== KEY_AT)
      wrongBytes += byte === lineOf(Math.floor(at / LINE_BYTES)).charCodeAt(column) ? 0 : 1;
    else if (isKey(byte)) keys += String.fromCharCode(byte);
    else wrongBytes += 1;
  }
  return { wrongBytes, keys };
}

function lineOf(number: number): string {
  return `${HEAD}${String(number).padStart(NUMBER_DIGITS, "0")} -\n`;
}

function isKey(byte: number): boolean {
  return byte === 0x2d || (byte >= 0x61 && byte <= 0x7a);
}
