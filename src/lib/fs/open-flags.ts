import { constants } from "node:fs";

/** For reading a path that a user chooses: neither waits for the writer of a pipe nor takes over a terminal. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
