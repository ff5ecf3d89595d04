#!/bin/sh
# Installs what the tests need and the npm packages do not bring, on Debian and its kin. Where everything is there
# it does nothing, and needs neither root nor a network. Last, it sees that a container engine answers.
set -eu
# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"

# One a line: a command that must be on the PATH or a file that must be there, and the packages that bring it.
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
openssl    openssl
sshd       openssh-server
nginx      nginx-light
/usr/include/security/pam_appl.h libpam0g-dev
'

missing_needs() {
  echo "$needs" | while read -r need packages; do
    case "$need" in
      '') ;;
      /*) [ -e "$need" ] || echo "$need $packages" ;;
      # Servers are no commands of everybody.
      *) PATH="$PATH:/usr/sbin" command -v "$need" >/dev/null 2>&1 || echo "$need $packages" ;;
    esac
  done
}

fail() {
  echo "setup-debian: $1" >&2
  exit 1
}

# The tests start servers of their own: none is to run here because it was installed. Debian asks this file.
keep_services_off() {
  policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then policy='' && return; fi
  trap 'let_services_be' EXIT
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
}

let_services_be() {
  [ -z "${policy:-}" ] || $as_root rm -f "$policy"
  trap - EXIT
}

install() {
  packages=$(echo "$1" | cut -d ' ' -f 2- | tr '\n' ' ')
  command -v apt-get >/dev/null 2>&1 ||
    fail "this machine has no apt-get; install by its own means what Debian calls: $packages"
  find_root "not root and no sudo; as root run: apt-get install $packages"

  echo "setup-debian: installing $packages"
  # An old list of packages may do as well, so only the installation decides.
  apt update || echo "setup-debian: the list of packages could not be refreshed" >&2
  keep_services_off
  # shellcheck disable=SC2086 # a list of words
  apt install --no-install-recommends $packages || fail "apt-get could not install: $packages"
  let_services_be

  missing=$(missing_needs)
  [ -z "$missing" ] || fail "installed, but still not there: $(echo "$missing" | cut -d ' ' -f 1 | tr '\n' ' ')"
}

missing=$(missing_needs)
[ -z "$missing" ] || install "$missing"
sh "$(dirname "$0")/../docker/ensure-engine.sh"
