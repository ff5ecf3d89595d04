/** Microseconds of the machine's monotonic clock: comparable between processes. */
export function nowUs(): number {
  return Number(process.hrtime.bigint()) / 1000;
}
