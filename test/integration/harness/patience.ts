/** How long, in ms, a test waits for what is to come: a busy machine may stand still for seconds, and that is no defect. */
export const PATIENCE_MS = 60_000;
