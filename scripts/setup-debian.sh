#!/bin/sh
# Installs what the tests need and the npm packages do not bring, on Debian and its kin. Where everything is there
# it does nothing, and needs neither root nor a network. Last, it sees that a container engine answers.
set -eu
# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"

# One a line: a command that must be on the PATH, and the packages that bring it.
needs='
npm        nodejs npm
python3    python3
make       make
g++        g++
ps         procps
chromium   chromium
asciinema  asciinema
tmux       tmux
redis-server redis-server
'

missing_commands() {
  echo "$needs" | while read -r command packages; do
    [ -z "$command" ] || command -v "$command" >/dev/null 2>&1 || echo "$command $packages"
  done
}

fail() {
  echo "setup-debian: $1" >&2
  exit 1
}

install() {
  packages=$(echo "$1" | cut -d ' ' -f 2- | tr '\n' ' ')
  command -v apt-get >/dev/null 2>&1 ||
    fail "this machine has no apt-get; install by its own means what Debian calls: $packages"
  find_root "not root and no sudo; as root run: apt-get install $packages"

  echo "setup-debian: installing $packages"
  # An old list of packages may do as well, so only the installation decides.
  apt update || echo "setup-debian: the list of packages could not be refreshed" >&2
  # shellcheck disable=SC2086 # a list of words
  apt install --no-install-recommends $packages || fail "apt-get could not install: $packages"

  missing=$(missing_commands)
  [ -z "$missing" ] || fail "installed, but still not on the PATH: $(echo "$missing" | cut -d ' ' -f 1 | tr '\n' ' ')"
}

missing=$(missing_commands)
[ -z "$missing" ] || install "$missing"
sh "$(dirname "$0")/../docker/ensure-engine.sh"
