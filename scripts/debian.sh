# shellcheck shell=sh
# Sourced by the scripts that install Debian's packages. They have a function `fail`, which says a sentence and ends.

# Sets $as_root: what comes before a command that root alone may run. $1: what to say where nobody can become root.
find_root() {
  as_root=''
  [ "$(id -u)" -ne 0 ] || return 0
  command -v sudo >/dev/null 2>&1 || fail "$1"
  as_root='sudo'
  # Nobody is there to type a password.
  [ -t 0 ] || as_root='sudo -n'
}

apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}
