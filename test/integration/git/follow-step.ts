// A user's action in one of two trees that follow mode keeps together.
export type Place = "main" | "tree";
export type Step =
  | {
      readonly kind: "commit" | "edit" | "stage" | "untracked" | "ignored";
      readonly in: Place;
      readonly file: number;
    }
  | { readonly kind: "commitAll" | "amend" | "reset" | "softReset" | "stash" | "pop"; readonly in: Place }
  | { readonly kind: "switch" | "create" | "merge" | "rebase" | "cherryPick"; readonly branch: number }
  | { readonly kind: "mergeInMain"; readonly branch: number }
  | { readonly kind: "detach" | "follow" | "leave" };

export const BRANCHES = ["feature", "second", "third/deep"];

/** A file's name; few, so that both trees use the same ones. */
export const fileName = (number: number): string => (number === 0 ? "shared.txt" : `file ${number}.txt`);
