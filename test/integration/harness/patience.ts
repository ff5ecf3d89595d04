/** The deadline of a test's waits, in ms: a busy machine may pause for seconds, which is no defect. */
export const PATIENCE_MS = 60_000;
