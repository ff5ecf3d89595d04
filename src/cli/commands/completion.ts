// Scripts with which shells complete commands, options and the names of sessions.
import { ServiceError } from "../../protocol/errors.ts";
import { type AddCommand, command } from "../command.ts";

const SCRIPTS = new Map(Object.entries({ bash, zsh, fish }));
const OF_SESSIONS = ["attach", "kill", "logs", "play", "rename", "share"];
const NAMES_COMMAND = "ttyhq ls --format '{name}' 2>/dev/null";

type Completed = { readonly name: string; readonly summary: string; readonly options: readonly string[] };

export const addCompletion: AddCommand = (program, ...rest) =>
  command({
    usage: "completion <shell>",
    summary: "print a completion script for bash, zsh or fish",
    examples: [
      ["source <(ttyhq completion bash)", "in ~/.bashrc; with zsh in ~/.zshrc"],
      ["ttyhq completion fish | source", "in ~/.config/fish/config.fish"],
    ],
    run: async (_, [shell = ""], cli) => {
      const script = SCRIPTS.get(shell);
      if (script === undefined) {
        const message = `no completion for ${JSON.stringify(shell)}; use bash, zsh or fish`;
        throw new ServiceError("invalid_request", message);
      }
      const completed = program.commands.map((each) => ({
        name: each.name(),
        summary: each.summary(),
        options: [...each.options.flatMap(({ long }) => long ?? []), "--help"],
      }));
      cli.stdout.write(script(completed));
    },
  })(program, ...rest);

function bash(commands: readonly Completed[]): string {
  return `_ttyhq() {
  local current=\${COMP_WORDS[COMP_CWORD]} words word quoted IFS=$'\\n'
  if ((COMP_CWORD == 1)); then words=$'${commands.map(({ name }) => name).join("\\n")}'
  else case "\${COMP_WORDS[1]}:$current" in
${commands.map(({ name, options }) => `    ${name}:-*) words=$'${options.join("\\n")}' ;;`).join("\n")}
${OF_SESSIONS.map((name) => `    ${name}:*) words=$(${NAMES_COMMAND}) ;;`).join("\n")}
  esac; fi
  COMPREPLY=()
  # Not compgen -W, which expands the words: a name may be $(a command).
  while IFS= read -r word; do
    printf -v quoted %q "$word"
    [[ -n $word && ($word == "$current"* || $quoted == "$current"*) ]] && COMPREPLY+=("$quoted")
  done <<<"$words"
}
complete -o default -F _ttyhq ttyhq
`;
}

function zsh(commands: readonly Completed[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  return `#compdef ttyhq
_ttyhq() {
  local -a commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join("\n")}
  )
  if ((CURRENT == 2)); then _describe command commands
  else case "$words[2]:$PREFIX" in
${commands.map(({ name, options }) => `    ${name}:-*) compadd -- ${options.join(" ")} ;;`).join("\n")}
    (${OF_SESSIONS.join("|")}):*) compadd -- \${(f)"$(${NAMES_COMMAND})"} ;;
    *) _files ;;
  esac; fi
}
# Autoloaded from a folder of $fpath, or sourced.
if [[ $funcstack[1] == _ttyhq ]]; then _ttyhq
else
  (($+functions[compdef])) || { autoload -Uz compinit && compinit }
  compdef _ttyhq ttyhq
fi
`;
}

function fish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, summary, options }) => [
    `complete -c ttyhq -f -n __fish_use_subcommand -a ${name} -d '${summary.replaceAll("'", "\\'")}'`,
    ...options.map(
      (option) =>
        `complete -c ttyhq -n '__fish_seen_subcommand_from ${name}' -l ${option.replace(/^--/, "")}`,
    ),
  ]);
  const sessions = `complete -c ttyhq -f -n '__fish_seen_subcommand_from ${OF_SESSIONS.join(" ")}' -a '(${NAMES_COMMAND.replaceAll("'", "\\'")})'`;
  return `${[...lines, sessions].join("\n")}\n`;
}
