#!/bin/sh
# Installs the tests' requirements beyond npm packages, on Debian and derivatives. If everything is installed it does
# nothing, and needs neither root nor a network. At the end it ensures that a container engine answers.
set -eu
# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"

# One per line: a command on the PATH or a file, and the packages that provide it.
needs='
npm        nodejs npm
python3    python3
make       make
g++        g++
ps         procps
chromium   chromium
chromium-headless-shell chromium-headless-shell
asciinema  asciinema
tmux       tmux
zsh        zsh
fish       fish
redis-server redis-server
strace     strace
openssl    openssl
sshd       openssh-server
nginx      nginx-light
promtool   prometheus
/usr/include/security/pam_appl.h libpam0g-dev
'

# Older versions of kubectl cannot build the overlays of k8s/.
MIN_KUBECTL_MINOR=25

missing_needs() {
  has_kubectl || echo "kubectl kubectl"
  echo "$needs" | while read -r need packages; do
    case "$need" in
      '') ;;
      /*) [ -e "$need" ] || echo "$need $packages" ;;
      # Server programs are not on every user's PATH.
      *) PATH="$PATH:/usr/sbin" command -v "$need" >/dev/null 2>&1 || echo "$need $packages" ;;
    esac
  done
}

has_kubectl() {
  command -v kubectl >/dev/null 2>&1 || return 1
  # "Client Version: v1.32.3"; old versions print "… Minor:"20" …".
  minor=$(kubectl version --client 2>/dev/null | sed -n 's/^Client Version: v1\.\([0-9]*\).*/\1/p')
  [ "${minor:-0}" -ge "$MIN_KUBECTL_MINOR" ]
}

fail() {
  echo "setup-debian: $1" >&2
  exit 1
}

# The tests start servers of their own, so installing a package must not start its service. Debian's packages consult
# this file.
keep_services_off() {
  policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then policy='' && return; fi
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
}

clean_up() {
  [ -z "${policy:-}" ] || $as_root rm -f "$policy"
  rm -rf "$work"
  trap - EXIT
}

# pick_packages PACKAGES: sets `offered` to those in the machine's sources, and fetches the rest: a current kubectl is
# in a newer release.
pick_packages() {
  offered=''
  for want in $1; do
    choose "$want"
    if [ -n "$chosen" ]; then offered="$offered $chosen"; else fetch_newer "$work" "$want"; fi
  done
}

install() {
  # shellcheck disable=SC2031 # the other one of this name is of a loop
  packages=$(echo "$1" | cut -d ' ' -f 2- | tr '\n' ' ')
  command -v apt-get >/dev/null 2>&1 ||
    fail "this machine has no apt-get; install by its own means what Debian calls: $packages"
  find_root "not root and no sudo; as root run: apt-get install $packages"

  echo "setup-debian: installing $packages"
  work=$(mktemp -d)
  trap 'clean_up' EXIT
  # Otherwise dash would leave the file that keeps services off when a signal ends it.
  trap 'exit 143' HUP INT TERM
  # An outdated package list may still work, so only the installation decides.
  apt update || echo "setup-debian: the list of packages could not be refreshed" >&2
  keep_services_off
  pick_packages "$packages"
  # shellcheck disable=SC2046,SC2086 # lists of words
  apt install --no-install-recommends $offered $(find "$work" -name '*.deb') || fail "apt-get could not install: $packages"
  clean_up

  missing=$(missing_needs)
  [ -z "$missing" ] || fail "installed, but still not there: $(echo "$missing" | cut -d ' ' -f 1 | tr '\n' ' ')"
}

missing=$(missing_needs)
[ -z "$missing" ] || install "$missing"
sh "$(dirname "$0")/../docker/ensure-engine.sh"
