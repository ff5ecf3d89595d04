// Files in a repository that git has no command for: hooks, and what git is told to ignore. They are read and written
// as the user whose repository it is: its config may lead anywhere, and where that user may not write, nothing is written.

export type FoundFile = {
  /** Of a file over MAX_FILE_BYTES, and of what a symbolic link leads to, only so many of the first. */
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  /** Permissions alone. */
  readonly mode: number;
  /** Where it leads, of a symbolic link. */
  readonly target: string | undefined;
};

/** Paths are absolute. Each throws ServiceError `forbidden`, or another one that says what was not done. */
export type Files = {
  /** `undefined`: there is nothing of that name. */
  look(path: string): Promise<FoundFile | undefined>;
  /** In place of what is there, with exactly that mode: whoever reads sees the old or the new whole. */
  write(path: string, bytes: Uint8Array, mode: number): Promise<void>;
  /** With those it is in. Whether it was not there. */
  makeFolder(path: string): Promise<boolean>;
  /** Whether files could be put there; of a folder that is not there, whether it could be made. */
  isWritable(folder: string): Promise<boolean>;
  /** The very file under another name as well; where that cannot be, under the other name alone. */
  keep(path: string, kept: string): Promise<void>;
  /** A symbolic link, in place of what is there. */
  link(target: string, path: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
  /** What is not there is no failure. */
  remove(path: string): Promise<void>;
  /** A folder that is empty; any other stays. */
  removeEmpty(path: string): Promise<void>;
};
